"""notices.py TARGET NOTICES SBOM: licences of what is linked into the program, and its bill of materials.

The packages are those of cargo's graph for the target without tests and build scripts. NOTICES gets each licence text once,
with the packages that it covers; SBOM is CycloneDX 1.5 in JSON. The same commit gives the same bytes.
"""

import collections
import datetime
import glob
import json
import os
import subprocess
import sys

LICENCE_FILES = ("LICENSE", "LICENCE", "COPYING", "UNLICENSE", "NOTICE")
# In the program although no package of the graph says so.
SQLITE = "SQLite is in the public domain: https://www.sqlite.org/copyright.html"


def linked_packages(target):
    """Packages of the normal dependency graph of the root package, by name and version."""
    command = ["cargo", "metadata", "--offline", "--locked", "--format-version", "1", "--filter-platform", target]
    metadata = json.loads(subprocess.check_output(command))
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    seen, todo = set(), [metadata["resolve"]["root"]]
    while todo:
        identity = todo.pop()
        if identity in seen:
            continue
        seen.add(identity)
        for dependency in nodes[identity]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                todo.append(dependency["pkg"])
    found = [packages[identity] for identity in seen if packages[identity]["source"]]
    return sorted(found, key=lambda package: (package["name"], package["version"]))


def licence_texts(package):
    """Texts of the licence files of a package."""
    folder = os.path.dirname(package["manifest_path"])
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), "*"))):
        if os.path.isfile(path) and os.path.basename(path).upper().startswith(LICENCE_FILES):
            with open(path, encoding="utf-8", errors="replace") as file:
                yield file.read().strip()


def write_notices(packages, path):
    """Writes every licence text once, after the names of the packages that carry it."""
    by_text = collections.defaultdict(list)
    without = []
    for package in packages:
        name = f"{package['name']} {package['version']}"
        texts = list(licence_texts(package))
        for text in texts:
            by_text[text].append(name)
        if not texts:
            without.append(f"{name}: {package['license']} (its package has no licence file)")
    with open(path, "w", encoding="utf-8") as file:
        file.write("dbdyno contains the packages below. Where several licences are offered, any of them may be chosen.\n\n")
        for package in packages:
            file.write(f"{package['name']} {package['version']}: {package['license']}\n")
        file.write("\n" + "\n".join(without) + f"\n{SQLITE}\n")
        for text, names in sorted(by_text.items(), key=lambda item: item[1]):
            file.write("\n" + "=" * 80 + "\n" + ", ".join(names) + "\n" + "-" * 80 + "\n" + text + "\n")


def write_sbom(packages, path):
    """Writes the bill of materials."""
    when = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    version = os.path.basename(path).split("-")[1]
    components = [
        {
            "type": "library",
            "name": package["name"],
            "version": package["version"],
            "purl": f"pkg:cargo/{package['name']}@{package['version']}",
            "licenses": [{"expression": (package["license"] or "NOASSERTION").replace("/", " OR ")}],
        }
        for package in packages
    ]
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {"type": "application", "name": "dbdyno", "version": version},
        },
        "components": components,
    }
    with open(path, "w", encoding="utf-8") as file:
        json.dump(bill, file, indent=1)
        file.write("\n")


def main():
    target, notices, sbom = sys.argv[1:]
    packages = linked_packages(target)
    if len(packages) < 100:
        sys.exit(f"notices: only {len(packages)} packages are linked for {target}")
    write_notices(packages, notices)
    write_sbom(packages, sbom)


main()
