#!/usr/bin/env python3
"""Hashes of skewed keys by an implementation of its own, after docs/decisions/0038-skewed-keys.md.

python3 tests/vectors/skewed_keys.py > tests/vectors/skewed_keys.csv
"""
from math import floor, gcd

MODULUS, MULTIPLIER = 2**31 - 1, 48271


def rank(law, rows, state):
    kind, *numbers = law.split("-")
    if kind == "zipf":
        rest = 1 - float(numbers[0])
        low = 0.5**rest
        step = ((rows + 0.5) ** rest - low) / MODULUS
        return floor((low + state * step) ** (1 / rest) + 0.5)
    share, part = (int(number) for number in numbers)
    below, hot = share * MODULUS // 100, max(rows * part // 100, 1)
    if state < below:
        return 1 + state * hot // below
    return 1 + hot + (state - below) * (rows - hot) // (MODULUS - below)


def factor(rows):
    candidate = rows * 618033989 // 10**9 | 1
    while gcd(candidate, rows) != 1:
        candidate += 2
    return candidate


def digest(law, place, rows, draws):
    state, found, multiplier = 1, 0, factor(rows)
    for _ in range(draws):
        state = state * MULTIPLIER % MODULUS
        key = rank(law, rows, state)
        if place == "scattered":
            key = 1 + key * multiplier % rows
        found = (found * 31 + key) % 1_000_000_007
    return found


print("keys,place,rows,draws,hash")
for law in ("zipf-0.8", "zipf-0.99", "hot-80-20"):
    for place in ("scattered", "adjacent"):
        for rows, draws in ((8000, 20_000), (31_250, 20_000), (1_000_000, 20_000)):
            print(law, place, rows, draws, digest(law, place, rows, draws), sep=",")
print("zipf-0.99", "adjacent", 31_250, 100_000, digest("zipf-0.99", "adjacent", 31_250, 100_000), sep=",")
