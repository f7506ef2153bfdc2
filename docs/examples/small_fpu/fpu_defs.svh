// SPDX-License-Identifier: 0BSD

`define FPU_STAGES 3  // of fp16_fma
`define FPU_DEPTH  8  // results that may wait
