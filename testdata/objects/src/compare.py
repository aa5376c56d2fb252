"""Compares expected.txt with what the toolkit's dumper lists.

  compare.py CUOBJDUMP FOLDER

Prints one line for each file where they differ and exits 0: the dumper does
not list every kind, and never shows the suffix f for an ELF image.
"""
import collections
import os
import re
import subprocess
import sys

dumper, folder = sys.argv[1:]
os.chmod(dumper, 0o755)
expected = collections.defaultdict(collections.Counter)
for line in open(f"{folder}/expected.txt"):
    name, kind, target, count = line.rstrip("\n").split("\t")
    expected[name][kind, target] += int(count)

for name, want in sorted(expected.items()):
    if name.endswith(".ptx"):
        continue
    out = subprocess.run([dumper, "-all", "--list-elf", "--list-ptx", f"{folder}/{name}"], capture_output=True, text=True).stdout
    seen = collections.Counter()
    for kind, target in re.findall(r"^(ELF|PTX) file.*\.sm_(\w+)\.(?:cubin|ptx)$", out, re.M):
        seen[("elf", "sm_" + target) if kind == "ELF" else ("ptx", "compute_" + target)] += 1
    if seen != want:
        show = lambda c: " ".join(f"{k}:{t}*{n}" for (k, t), n in sorted(c.items())) or "nothing"
        print(f"{name}\texpected only: {show(want - seen)}\tdumper only: {show(seen - want)}")
