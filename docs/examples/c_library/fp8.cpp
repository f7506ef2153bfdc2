// SPDX-License-Identifier: 0BSD
// A dot product of FP8 values, summed in FP16, in BF16 and in FP32.
#include <cstdio>
#include "softfloat.hpp"

using softfloat::bf16;
using softfloat::f16;
using softfloat::f32;
using softfloat::f8_e4m3;

template <class Sum> double dot(const double (&a)[4], const double (&b)[4])
{
    Sum sum;
    for (int i = 0; i < 4; i++) sum = fma(Sum(f8_e4m3(a[i])), Sum(f8_e4m3(b[i])), sum);
    return double(sum);
}

int main()
{
    static_assert(f8_e4m3::max().bits() == 0x7e && (-f8_e4m3::max()).is_negative());
    const double a[4] = {0.3, 448, -2.75, 1.5}, b[4] = {1.6, 1.25, 3, 240};
    std::printf("fp16 %g, bf16 %g, fp32 %g\n", dot<f16>(a, b), dot<bf16>(a, b), dot<f32>(a, b));
    f8_e4m3 x(1.0), y(0.3);
    x /= y;
    std::printf("1 / 0.3 = %g, %s\n", double(x), x < f8_e4m3(3.5) ? "less than 3.5" : "3.5 or more");
    return softfloat_exceptionFlags & softfloat_flag_invalid ? 1 : 0;
}
