"""Prints what the self-contained programs have inside, as SPDX 2.3 in JSON, checked by the SPDX project's own library.

    packaging/licences.sh --list | packaging/sbom.py VERSION SECONDS_SINCE_THE_EPOCH

Each line of the list is a package of Debian: its name, version and source, and what its makers call it.
"""

import datetime
import io
import sys

from spdx_tools.spdx.model import (
    Actor, ActorType, CreationInfo, Document, ExternalPackageRef, ExternalPackageRefCategory, Package, Relationship,
    RelationshipType, SpdxNoAssertion)
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document
from spdx_tools.spdx.writer.json.json_writer import write_document_to_stream

US = "SPDXRef-hutch"


def inside(line):
    package, version, source, name = line.rstrip("\n").split(" ", 3)
    purl = f"pkg:deb/debian/{source}@{version}?arch=source"
    return Package(
        spdx_id=f"SPDXRef-{package.replace('+', 'p')}", name=name, version=version, download_location=SpdxNoAssertion(),
        supplier=Actor(ActorType.ORGANIZATION, "Debian"), files_analyzed=False,
        external_references=[ExternalPackageRef(ExternalPackageRefCategory.PACKAGE_MANAGER, "purl", purl)])


def main():
    version, seconds = sys.argv[1], int(sys.argv[2])
    libraries = [inside(line) for line in sys.stdin]
    hutch = Package(spdx_id=US, name="hutch", version=version, download_location=SpdxNoAssertion(), files_analyzed=False)
    made = CreationInfo(
        spdx_version="SPDX-2.3", spdx_id="SPDXRef-DOCUMENT", name=f"hutch {version}",
        document_namespace=f"urn:hutch:sbom:{version}:{seconds}", creators=[Actor(ActorType.TOOL, "hutch packaging")],
        created=datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).replace(tzinfo=None))
    links = [Relationship("SPDXRef-DOCUMENT", RelationshipType.DESCRIBES, US)]
    links += [Relationship(US, RelationshipType.STATIC_LINK, one.spdx_id) for one in libraries]
    document = Document(made, packages=[hutch, *libraries], relationships=links)
    wrong = validate_full_spdx_document(document)
    if wrong:
        sys.exit("\n".join(message.validation_message for message in wrong))
    text = io.StringIO()
    write_document_to_stream(document, text, validate=False)
    print(text.getvalue())


if __name__ == "__main__":
    main()
