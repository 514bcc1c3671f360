"""What the user of a sandbox installs is found, and before what the environment has of that name."""

import site
import sys

_of_environment = [path for path in sys.path if path.endswith("-packages")]
sys.path[:] = [path for path in sys.path if path not in _of_environment]
site.ENABLE_USER_SITE = True
site.addusersitepackages(set(sys.path))
sys.path += _of_environment
