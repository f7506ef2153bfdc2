# SPDX-License-Identifier: 0BSD
import my_fma

from softfloat_ref import testing


class TestMyFma(testing.FmaConformance):
    fmt, max_examples = "fp16", 20

    def model(self, a, b, c):
        return my_fma.multiply_add(a, b, c)
