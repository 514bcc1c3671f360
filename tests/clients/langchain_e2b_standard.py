"""langchain's standard tests of a sandbox, over its integration of E2B. Run by test_e2b_sdk.py with pytest, where the packages are."""

import pytest
from e2b import Sandbox
from langchain_e2b import E2BSandbox
from langchain_tests.integration_tests import SandboxIntegrationTests


class TestStandard(SandboxIntegrationTests):
    @pytest.fixture(scope="class")
    def sandbox(self):
        made = Sandbox.create(template="host", timeout=3600)
        yield E2BSandbox(sandbox=made)
        made.kill()
