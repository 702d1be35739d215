#!/usr/bin/env python3
"""Second implementation of the vectors (crates/dbdyno-stats/src/vectors.rs): prints check values that the tests hold
the first one, and what databases store, against. vectors.py ROWS [SEED]"""
import sys

M = 2147483647


def step(s):
    return s * 48271 % M


def start(i, x):
    h = (i * 1327217885 + 12345 + x) % M
    return (h * h + i) % M or 1


def bells(i, n, x):
    s = step(start(i, x))
    out = []
    for _ in range(n):
        s = step(s)
        out.append(sum(s >> bit & 127 for bit in (24, 17, 10, 3)) - 254)
    return out


def main():
    rows, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 42
    basis = [bells(number, 128, seed + 3) for number in range(1, 33)]
    total = squares = 0
    for i in range(1, rows + 1):
        centre = 1000 * step(step(start(i, seed + 7))) >> 31
        z = [a + b for a, b in zip(bells(centre + 1, 32, seed + 1), bells(i, 32, seed + 2))]
        noise = bells(i, 128, seed + 4)
        row = [max(-181, min(181, sum(z[k] * basis[k][j] for k in range(32)) // 968 + noise[j] // 4)) for j in range(128)]
        total += sum(row)
        squares += sum(v * v for v in row)
        if i == 1:
            print("row 1:", row[:8], "sum", sum(row))
    print(f"rows 1..{rows}: sum {total}, sum of squares {squares}")


main()
