"""Prints the coverage of vmafgpu.h by section: coverage.py HEADER LCOV JSON LINES

LCOV and JSON are the exports of llvm-cov. The header occurs in them once per path by which files include it, and its
functions once per program and instruction set. A line, a branch or a function counts as covered if any occurrence was
executed. LINES receives the lines that were not, and the branches in executed lines that were not.
"""
import bisect
import json
import re
import sys

header, lcov, exported, missed = sys.argv[1:]
source = open(header, encoding="utf-8").read().split("\n")
first, names = [1], ["manual and API"]
for number, text in enumerate(source, 1):
    banner = re.match(r" \* >>([a-z_ ]+?)   +[^ >]", text)
    if banner:
        first.append(number)
        names.append(banner.group(1))


def is_header(path):
    return path.endswith("/" + header) or path == header


def note(table, key, is_covered):
    table[key] = table.get(key, False) or is_covered


lines, branches, functions = {}, {}, {}
starts = {}
inside = False
for row in open(lcov, encoding="utf-8"):
    kind, _, rest = row.strip().partition(":")
    if kind == "SF":
        inside = is_header(rest)
        starts = {}
    elif inside and kind == "DA":
        number, count = rest.split(",")[:2]
        note(lines, int(number), int(count) > 0)
    elif inside and kind == "FN":
        number, name = rest.split(",", 1)
        starts[name] = int(number)
    elif inside and kind == "FNDA":
        count, name = rest.split(",", 1)
        note(functions, starts[name], int(count) > 0)
for file in json.load(open(exported, encoding="utf-8"))["data"][0]["files"]:
    if not is_header(file["filename"]):
        continue
    for branch in file["branches"]:
        note(branches, (*branch[:4], True), branch[4] > 0)
        note(branches, (*branch[:4], False), branch[5] > 0)

tables = (lines, branches, functions)
counts = [[[0, 0] for _ in tables] for _ in first]
for column, table in enumerate(tables):
    for key, is_covered in table.items():
        section = bisect.bisect(first, key[0] if isinstance(key, tuple) else key) - 1
        counts[section][column][0] += is_covered
        counts[section][column][1] += 1


def print_row(name, row):
    shares = ["%7.1f" % (100 * done / all_) if all_ else "      -" for done, all_ in row]
    print("%-24s %s %s %s   %6d %6d %5d" % (name, *shares, *(all_ - done for done, all_ in row)))


print("%-24s   lines branch. funct.   missed: lines, branches, functions" % "section, percent")
whole = [[0, 0] for _ in tables]
for name, row in zip(names, counts):
    for column, (done, all_) in enumerate(row):
        whole[column][0] += done
        whole[column][1] += all_
    if row[0][1]:
        print_row(name, row)
print_row("whole header", whole)
rows = [(number, 0, source[number - 1]) for number, is_covered in lines.items() if not is_covered]
for (number, column, _, _, is_true), is_covered in branches.items():
    if not is_covered and lines.get(number, True):
        rows.append((number, column, "never %s: %s" % (str(is_true).lower(), source[number - 1].strip())))
with open(missed, "w", encoding="utf-8") as out:
    for number, column, text in sorted(rows):
        out.write("%d: %s\n" % (number, text) if not column else "%d, column %d, %s\n" % (number, column, text))
