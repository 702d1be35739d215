"""Recall by another program: what a search found, beside the exact search of faiss.

Reads rows.txt and queries.txt (id and the components) and found.txt (id of a query, its k-th squared distance as dbdyno knows it, the
ids that were found) of a directory; prints how many of the found are true neighbours, and of how many queries both know the same
distance. A found row that is as near as the last true neighbour is one, as in ann-benchmarks.
"""

import sys

import faiss
import numpy as np


def read(name):
    with open(f"{sys.argv[1]}/{name}.txt") as lines:
        return [line.split() for line in lines]


def vectors(name):
    rows = read(name)
    components = np.array([row[1].strip("[]").split(",") for row in rows], dtype=np.float32)
    return [int(row[0]) for row in rows], components


ids, rows = vectors("rows")
query_ids, queries = vectors("queries")
row_of = {number: at for at, number in enumerate(ids)}
query_of = {number: at for at, number in enumerate(query_ids)}
found = [(int(row[0]), int(row[1]), [int(number) for number in row[2:]]) for row in read("found")]
near = max(len(numbers) for _, _, numbers in found)
index = faiss.IndexFlatL2(rows.shape[1])
index.add(rows)
distances, _ = index.search(queries, near)
hits = same = 0
for query, told, numbers in found:
    last = distances[query_of[query]][-1]
    same += int(last) == told
    apart = rows[[row_of[number] for number in numbers]] - queries[query_of[query]]
    hits += int(((apart * apart).sum(axis=1) <= last).sum())
print("hits", hits, "same", same)
