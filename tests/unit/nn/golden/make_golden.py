#!/usr/bin/env python3
"""Writes cnn.txt: what PyTorch computes for a small CNN, for golden_test.cc.

Ran on PyTorch 1.13.0a0 (Debian 12's python3-torch 1.13.1+dfsg-4), Python 3.11.2:
    /usr/bin/python3 tests/unit/nn/golden/make_golden.py > tests/unit/nn/golden/cnn.txt

The net, in Keras's words: input [8, 8, 2]; Conv2D 5, 3x3, same, ReLU; MaxPool2D 2; Conv2D 4, 2x2,
valid, ReLU; Flatten; Dense 6, ReLU; Dense 3. Three steps of SGD, learning rate 0.25, on one batch
of 4. Computed in double precision from inputs and weights that a float holds exactly. Each tensor is
a line "NAME COUNT" and a line of values, in Keras's layout.
"""
import math

import torch
import torch.nn.functional as F

STEPS, RATE = 3, 0.25


def emit(name, values):
    values = values.detach().reshape(-1).tolist()
    print(name, len(values))
    print(" ".join(f"{v:.9g}" for v in values))


def uniform(shape, limit):
    """Multiples of 2^-12, so that text, float and double agree."""
    values = (torch.rand(shape, dtype=torch.float64) * 2 - 1) * limit
    return (values * 4096).round() / 4096


def glorot(shape):
    receptive = math.prod(shape[:-2])
    return uniform(shape, math.sqrt(6 / (receptive * (shape[-2] + shape[-1]))))


def conv(x, kernel, bias, padding):
    return F.conv2d(x, kernel.permute(3, 2, 0, 1), bias, padding=padding)


def logits(x, p):
    x = x.permute(0, 3, 1, 2)
    x = F.max_pool2d(F.relu(conv(x, p["conv2d/kernel"], p["conv2d/bias"], 1)), 2)
    x = F.relu(conv(x, p["conv2d_1/kernel"], p["conv2d_1/bias"], 0))
    x = x.permute(0, 2, 3, 1).flatten(1)
    x = F.relu(x @ p["dense/kernel"] + p["dense/bias"])
    return x @ p["dense_1/kernel"] + p["dense_1/bias"]


def main():
    torch.manual_seed(7)
    shapes = {"conv2d": [3, 3, 2, 5], "conv2d_1": [2, 2, 5, 4], "dense": [36, 6], "dense_1": [6, 3]}
    parameters = {}
    for layer, shape in shapes.items():
        parameters[f"{layer}/kernel"] = glorot(shape).requires_grad_()
        parameters[f"{layer}/bias"] = uniform(shape[-1:], 0.1).requires_grad_()
    features, labels = uniform([4, 8, 8, 2], 1.0), torch.tensor([2, 0, 1, 2])
    emit("features", features)
    emit("labels", labels)
    for name, value in parameters.items():
        emit(name, value)
    for step in range(STEPS):
        loss = F.cross_entropy(logits(features, parameters), labels)
        gradients = torch.autograd.grad(loss, list(parameters.values()))
        emit(f"loss@{step}", loss)
        for (name, value), gradient in zip(parameters.items(), gradients):
            emit(f"{name}@{step}", gradient)
            value.data -= RATE * gradient


main()
