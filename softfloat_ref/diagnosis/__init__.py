"""Diagnosis of faulty devices by hypotheses, each run over the device's cases; identification of unknown devices.

A hypothesis is a policy, profile or accumulator of the library, or a listed defect. All cases count for or against it:
it must give the device's answer for the wrong cases, and the right answer for the others.
"""
