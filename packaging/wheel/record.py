"""Writes a wheel's RECORD: each of its files with its hash and size.

    packaging/wheel/record.py ROOT DIST_INFO
"""

import base64
import csv
import hashlib
import pathlib
import sys


def main():
    root, info = pathlib.Path(sys.argv[1]), sys.argv[2]
    with open(root / info / "RECORD", "w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        for path in sorted(path for path in root.rglob("*") if path.is_file() and path.name != "RECORD"):
            content = path.read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            rows.writerow([path.relative_to(root), f"sha256={digest}", len(content)])
        rows.writerow([f"{info}/RECORD", "", ""])


if __name__ == "__main__":
    main()
