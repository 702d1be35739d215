"""enter.py BUNDLE ARGUMENT...: runs the entry point of an unpacked image as its configuration says, without a container service.

BUNDLE is what `umoci unpack` makes: config.json of OCI's runtime specification, and rootfs.
"""

import json
import os
import sys


def main():
    bundle, *arguments = sys.argv[1:]
    with open(os.path.join(bundle, "config.json"), encoding="utf-8") as file:
        process = json.load(file)["process"]
    os.chroot(os.path.join(bundle, "rootfs"))
    os.chdir(process["cwd"])
    os.setgroups([])
    os.setgid(process["user"]["gid"])
    os.setuid(process["user"]["uid"])
    environment = dict(entry.split("=", 1) for entry in process["env"])
    program = process["args"][0]
    os.execve(program, [program, *arguments], environment)


main()
