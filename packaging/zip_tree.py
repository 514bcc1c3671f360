"""Packs a directory as a zip file: sorted, one time for all, permissions kept.

    packaging/zip_tree.py DIRECTORY FILE SECONDS_SINCE_THE_EPOCH
"""

import pathlib
import stat
import sys
import time
import zipfile


def main():
    root, target, seconds = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    when = time.gmtime(max(seconds, 315532800))[:6]  # zip files begin in 1980
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(path for path in root.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(str(path.relative_to(root)), when)
            entry.create_system = 3
            entry.external_attr = (stat.S_IFREG | (0o755 if path.stat().st_mode & 0o100 else 0o644)) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes(), compresslevel=9)


if __name__ == "__main__":
    main()
