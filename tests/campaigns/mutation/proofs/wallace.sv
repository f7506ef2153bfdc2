// SPDX-License-Identifier: 0BSD
//
// A product without `*`: rows of partial products, full adders that make two rows of three until two are left
// (Wallace 1964), and a parallel-prefix adder (Kogge and Stone 1973).

module wallace #(
    parameter int P = 11
) (
    input  logic [P-1:0]   a, b,
    output logic [2*P-1:0] product
);
  wire [P-1:0][2*P-1:0] rows;
  for (genvar i = 0; i < P; i++) begin : row
    assign rows[i] = {2 * P{b[i]}} & (2 * P)'(a) << i;
  end

  wire [1:0][2*P-1:0] left;
  compressed #(.ROWS(P), .W(2 * P)) tree(.rows(rows), .left(left));
  prefix_sum #(.W(2 * P)) adder(.x(left[0]), .y(left[1]), .sum(product));
endmodule

module compressed #(
    parameter int ROWS = 3,
    parameter int W    = 8
) (
    input  logic [ROWS-1:0][W-1:0] rows,
    output logic [1:0][W-1:0]      left
);
  localparam int GROUPS = ROWS / 3;
  localparam int NEXT   = ROWS - GROUPS;
  if (ROWS == 2) begin : done
    assign left = rows;
  end else begin : more
    wire [NEXT-1:0][W-1:0] next;
    for (genvar g = 0; g < GROUPS; g++) begin : group
      wire [W-1:0] x = rows[3*g], y = rows[3*g+1], z = rows[3*g+2];
      wire [W-1:0] half = x ^ y;
      assign next[2*g]   = half ^ z;
      assign next[2*g+1] = {(x[W-2:0] & y[W-2:0]) | (z[W-2:0] & half[W-2:0]), 1'b0};
    end
    for (genvar i = 3 * GROUPS; i < ROWS; i++) begin : other
      assign next[i-GROUPS] = rows[i];
    end
    compressed #(.ROWS(NEXT), .W(W)) rest(.rows(next), .left(left));
  end
endmodule

module prefix_sum #(
    parameter int W = 8
) (
    input  logic [W-1:0] x, y,
    output logic [W-1:0] sum
);
  localparam int LEVELS = $clog2(W);
  wire [LEVELS:0][W-1:0] generated, propagated;
  assign generated[0]  = x & y;
  assign propagated[0] = x ^ y;
  for (genvar k = 0; k < LEVELS; k++) begin : level
    assign generated[k+1]  = generated[k] | (propagated[k] & generated[k] << 2 ** k);
    assign propagated[k+1] = propagated[k] & propagated[k] << 2 ** k;
  end
  assign sum = propagated[0] ^ {generated[LEVELS][W-2:0], 1'b0};
endmodule
