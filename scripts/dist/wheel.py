"""wheel.py TREE VERSION ARCH GLIBC OUT: a wheel that installs the program. The same commit gives the same bytes.

The format: https://packaging.python.org/en/latest/specifications/binary-distribution-format/
"""

import base64
import hashlib
import os
import sys
import time
import zipfile


def digest(body):
    """The hash of a file as RECORD has it."""
    return base64.urlsafe_b64encode(hashlib.sha256(body).digest()).rstrip(b"=").decode()


def read(path):
    """The bytes of a file."""
    with open(path, "rb") as file:
        return file.read()


def main():
    tree, version, arch, glibc, out = sys.argv[1:]
    when = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
    info = f"dbdyno-{version}.dist-info"
    tag = f"py3-none-manylinux_{glibc.replace('.', '_')}_{arch}"
    licences = ("LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY.txt")
    metadata = (
        f"Metadata-Version: 2.4\nName: dbdyno\nVersion: {version}\n"
        "Summary: A dynamometer for database platforms\nLicense-Expression: Apache-2.0 OR MIT\n"
        + "".join(f"License-File: {name}\n" for name in licences)
        + "Requires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n"
    ).encode() + read(f"{tree}/doc/README.md")
    wheel = f"Wheel-Version: 1.0\nGenerator: dbdyno\nRoot-Is-Purelib: false\nTag: {tag}\n"
    files = [(f"dbdyno-{version}.data/scripts/dbdyno", read(f"{tree}/dbdyno"), 0o755)]
    files += [(f"{info}/licenses/{name}", read(f"{tree}/doc/{name}"), 0o644) for name in licences]
    files += [(f"{info}/METADATA", metadata, 0o644), (f"{info}/WHEEL", wheel.encode(), 0o644)]
    record = "".join(f"{path},sha256={digest(body)},{len(body)}\n" for path, body, _ in files)
    files.append((f"{info}/RECORD", (record + f"{info}/RECORD,,\n").encode(), 0o644))
    path = f"{out}/dbdyno-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, body, mode in files:
            entry = zipfile.ZipInfo(name, when)
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, body)
    print(f"dist: wheel {os.path.getsize(path)} bytes")


main()
