"""What a device does instead: hypotheses, each run over the device's own cases; and which device an unknown one is.

A hypothesis is a policy, profile or accumulator of the library, or a listed defect. It stands or falls by all cases:
those that the device got wrong must come out as the device has them, and those that it got right must stay right.
"""
