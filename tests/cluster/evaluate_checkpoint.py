#!/usr/bin/python3
"""Evaluates a checkpoint of the fashion-mnist job outside weir, with numpy alone.

    evaluate_checkpoint.py CHECKPOINT_DIR [--data-dir DIR]

Reads CHECKPOINT_DIR/manifest.json (the names and shapes of the tensors) and every
shard-*.safetensors beside it by the published safetensors format, puts the tensors together and
runs the tutorial's CNN over the test set. Prints one JSON object: accuracy, loss, examples.
Exits 2 on bad arguments, 3 on a bad checkpoint or bad data.
"""
import argparse
import gzip
import json
import math
import pathlib
import struct
import sys

import numpy as np

DEFAULT_DATA = "/usr/share/datasets/fashion-mnist"
MODEL = {
    "conv2d/kernel": [3, 3, 1, 32],
    "conv2d/bias": [32],
    "dense/kernel": [5408, 64],
    "dense/bias": [64],
    "dense_1/kernel": [64, 10],
    "dense_1/bias": [10],
}
BATCH = 250  # keeps the convolution's output, 22 MB, modest


class Bad(Exception):
    """A checkpoint or data file that cannot be right."""


def safetensors_entries(path):
    """Yields (entry name, flat float32 array) for each tensor in the file."""
    blob = path.read_bytes()
    if len(blob) < 8:
        raise Bad(f"{path}: {len(blob)} bytes are no safetensors file")
    (header_bytes,) = struct.unpack_from("<Q", blob)
    begin = 8 + header_bytes
    if begin > len(blob):
        raise Bad(f"{path}: header of {header_bytes} bytes in a file of {len(blob)}")
    for name, entry in json.loads(blob[8:begin]).items():
        if name == "__metadata__":
            continue
        if entry["dtype"] != "F32":
            continue  # a counter or the like: no weight of this model
        first, last = entry["data_offsets"]
        elements = math.prod(entry["shape"])
        if last - first != 4 * elements or begin + last > len(blob):
            raise Bad(f"{path}: {name} with shape {entry['shape']} has the offsets {first}..{last} "
                      f"in {len(blob) - begin} bytes of data")
        yield name, np.frombuffer(blob, "<f4", elements, begin + first)


def load_tensors(folder):
    manifest_path = folder / "manifest.json"
    if not manifest_path.is_file():
        raise Bad(f"{manifest_path} is missing: not a checkpoint")
    shapes = {t["name"]: t["shape"] for t in json.loads(manifest_path.read_text())["tensors"]}
    for name, shape in MODEL.items():
        if shapes.get(name) != shape:
            raise Bad(f"{manifest_path}: {name} has the shape {shapes.get(name)}, expected {shape}")
    tensors = {name: np.empty(math.prod(shape), np.float32) for name, shape in MODEL.items()}
    times_set = {name: np.zeros(tensor.size, np.uint8) for name, tensor in tensors.items()}
    for path in sorted(folder.glob("shard-*.safetensors")):
        for entry, values in safetensors_entries(path):
            name, _, offset = entry.partition("@")
            if name not in MODEL:
                continue
            part = slice(int(offset or 0), int(offset or 0) + values.size)
            if part.stop > tensors[name].size:
                raise Bad(f"{path}: {entry} with {values.size} elements exceeds {MODEL[name]}")
            tensors[name][part] = values
            times_set[name][part] += 1
    for name, times in times_set.items():
        if not (times == 1).all():
            raise Bad(f"{folder}: of {name}'s {times.size} elements {(times == 0).sum()} are missing "
                      f"and {(times > 1).sum()} given more than once")
    return {name: tensor.reshape(MODEL[name]) for name, tensor in tensors.items()}


def read_idx(path, magic, dimensions):
    with gzip.open(path) as file:
        header = struct.unpack(f">{1 + dimensions}I", file.read(4 + 4 * dimensions))
        if header[0] != magic:
            raise Bad(f"{path}: magic number {header[0]}, expected {magic}")
        return np.frombuffer(file.read(), np.uint8).reshape(header[1:])


def logits(images, tensors):
    """images: uint8 [n, 28, 28]. The layers in the order of the tutorial."""
    pixels = images.astype(np.float32) / np.float32(255)
    windows = np.lib.stride_tricks.sliding_window_view(pixels, (3, 3), axis=(1, 2))
    kernel = tensors["conv2d/kernel"].reshape(9, 32)  # rows in the order of a window: y, then x
    maps = windows.reshape(-1, 9) @ kernel + tensors["conv2d/bias"]
    maps = np.maximum(maps, 0).reshape(-1, 13, 2, 13, 2, 32).max(axis=(2, 4))
    hidden = maps.reshape(len(images), -1) @ tensors["dense/kernel"] + tensors["dense/bias"]
    return np.maximum(hidden, 0) @ tensors["dense_1/kernel"] + tensors["dense_1/bias"]


def evaluate(tensors, images, labels):
    correct, loss = 0, 0.0
    for begin in range(0, len(images), BATCH):
        truth = labels[begin:begin + BATCH].astype(np.int64)
        scores = logits(images[begin:begin + BATCH], tensors).astype(np.float64)
        correct += int((scores.argmax(axis=1) == truth).sum())
        scores -= scores.max(axis=1, keepdims=True)
        loss -= float((scores[np.arange(len(truth)), truth] -
                       np.log(np.exp(scores).sum(axis=1))).sum())
    return {"accuracy": correct / len(images), "loss": loss / len(images), "examples": len(images)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint_dir", type=pathlib.Path)
    parser.add_argument("--data-dir", type=pathlib.Path, default=pathlib.Path(DEFAULT_DATA))
    arguments = parser.parse_args()
    try:
        tensors = load_tensors(arguments.checkpoint_dir)
        images = read_idx(arguments.data_dir / "t10k-images-idx3-ubyte.gz", 2051, 3)
        labels = read_idx(arguments.data_dir / "t10k-labels-idx1-ubyte.gz", 2049, 1)
        if len(images) != len(labels):
            raise Bad(f"{arguments.data_dir}: {len(images)} images and {len(labels)} labels")
        print(json.dumps(evaluate(tensors, images, labels)))
    except (Bad, OSError, EOFError, ValueError, KeyError, struct.error) as error:
        print(f"evaluate_checkpoint: {type(error).__name__}: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
