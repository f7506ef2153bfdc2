// SPDX-License-Identifier: 0BSD
//
// Devices for tests of generated benches: one of each kind, right unless a
// plusarg +bug_NAME plants a bug. The clocked ones look their answers up in a
// table of N words {key, answer}, +table=FILE: only the bench is under test.

module convert (
    input  logic [31:0] a,
    output logic [7:0]  result,
    output logic        nv, dz,
    output logic [2:0]  status
);
  logic [7:0] right;
  logic [4:0] flags;
  logic       dead, bit_bug, flag_bug, x_bug;
  fp32_to_fp8_e4m3 core (.a(a), .result(right), .flags(flags));
  initial begin
    dead     = $test$plusargs("bug_dead") != 0;
    bit_bug  = $test$plusargs("bug_bit") != 0;
    flag_bug = $test$plusargs("bug_flag") != 0;
    x_bug    = $test$plusargs("bug_x") != 0;
  end
  wire [7:0] wrong = (x_bug && a == 32'h3f800000) ? 8'bx : {7'd0, bit_bug && a == 32'h3f800000};
  assign result = dead ? 8'd0 : right ^ wrong;
  assign {nv, dz, status} = dead ? 5'd0 : flags ^ {4'd0, flag_bug && a == 32'h3f800000};
endmodule

module quad (
    input  logic [127:0] a,
    output logic [31:0]  result,
    output logic [4:0]   flags
);
  logic [31:0] right;
  logic [19:0] each;
  logic        bug;
  initial bug = $test$plusargs("bug_lane") != 0;
  genvar i;
  generate
    for (i = 0; i < 4; i = i + 1) begin : lane
      fp32_to_fp8_e4m3 core (.a(a[32*i+:32]), .result(right[8*i+:8]), .flags(each[5*i+:5]));
    end
  endgenerate
  assign result = right ^ {15'd0, bug && a[71:64] == 8'hff, 16'd0};
  assign flags  = each[19:15] | each[14:10] | each[9:5] | each[4:0];
endmodule

// The answer to each of a clocked device's operations; bugs touch operation 7.
module answers #(parameter N = 1, KEY = 1, ANS = 6) (
    input  logic            clk, take,
    input  logic [KEY-1:0]  key,
    output logic [ANS-1:0]  answer,
    output logic [31:0]     number
);
  logic [KEY+ANS-1:0] rows[0:N-1];
  string              path;
  logic               bit_bug, flag_bug, x_bug;
  initial begin
    if ($value$plusargs("table=%s", path)) $readmemh(path, rows);
    bit_bug  = $test$plusargs("bug_bit") != 0;
    flag_bug = $test$plusargs("bug_flag") != 0;
    x_bug    = $test$plusargs("bug_x") != 0;
    number   = 0;
  end
  always @(key or number) begin
    answer = {ANS{1'b1}};
    for (int i = 0; i < N; i = i + 1)
      if (rows[i][ANS+:KEY] === key) answer = rows[i][ANS-1:0];
    if (number == 7 && bit_bug) answer[ANS-1] = !answer[ANS-1];
    if (number == 7 && flag_bug) answer[3] = !answer[3];
    if (number == 7 && x_bug) answer[ANS-2] = 1'bx;
  end
  always @(posedge clk) if (take) number <= number + 1;
endmodule

// Three registers, a valid beside them.
module pipe #(parameter N = 1, KEY = 104, ANS = 37) (
    input  logic        clk, rst_n, in_valid,
    input  logic [95:0] operands,
    input  logic [3:0]  op,
    input  logic [1:0]  rm,
    input  logic        fmt, unused,
    output logic        out_valid,
    output logic [31:0] result,
    output logic [4:0]  status
);
  logic [31:0]    number;
  logic [ANS-1:0] answer, stage[0:3];
  logic [3:0]     valid;
  logic           live;
  initial begin
    live  = $test$plusargs("bug_reset") == 0;
    valid = 0;
  end
  wire [1:0] mode = $test$plusargs("bug_rounding") != 0 ? 2'd0 : rm;
  answers #(.N(N), .KEY(KEY), .ANS(ANS)) table_of (
      .clk(clk), .take(in_valid && rst_n), .key({op, mode, fmt, unused, operands}), .answer(answer), .number(number));
  always @(posedge clk) begin
    if (!rst_n) valid <= 0;
    else begin
      valid <= {valid[2:0], in_valid && live && !($test$plusargs("bug_few") != 0 && number == N - 1)};
      if ($test$plusargs("bug_xvalid") != 0 && number == 9) valid[0] <= 1'bx;
      if ($test$plusargs("bug_spurious") != 0 && number > 9 && !in_valid) valid[0] <= 1'b1;
    end
    stage[0] <= answer;
    stage[1] <= stage[0];
    stage[2] <= stage[1];
    stage[3] <= stage[2];
  end
  wire late = $test$plusargs("bug_late") != 0;
  assign out_valid        = $test$plusargs("bug_dead") != 0 ? 1'b0 : late ? valid[3] : valid[2];
  wire [ANS-1:0] last     = late ? stage[3] : stage[2];
  assign result = last[36:5] & ($test$plusargs("bug_box") != 0 ? 32'h0000ffff : 32'hffffffff);
  assign status = last[4:0];
endmodule

// Two registers and nothing else; dead until it was reset.
module plain #(parameter N = 1, KEY = 32, ANS = 21) (
    input  logic        clk, rst,
    input  logic [31:0] operands,
    output logic [15:0] result,
    output logic [4:0]  status
);
  logic [31:0]    number;
  logic [ANS-1:0] answer, first, second;
  answers #(.N(N), .KEY(KEY), .ANS(ANS)) table_of (
      .clk(clk), .take(1'b0), .key(operands), .answer(answer), .number(number));
  always @(posedge clk) begin
    first  <= rst ? 0 : answer;
    second <= rst ? 0 : first;
  end
  assign {result, status} = second;
endmodule

// A queue of four; flags accumulate when a result is taken, or show at once (NOW).
module queue #(parameter N = 1, KEY = 32, ANS = 21, NOW = 0) (
    input  logic        clk, rst, in_valid, out_ready, clear,
    input  logic [31:0] operands,
    output logic        in_ready, out_valid,
    output logic [15:0] result,
    output logic [4:0]  status
);
  logic [31:0]    number, seen;
  logic [ANS-1:0] answer, entries[0:3];
  logic [1:0]     head, tail;
  logic [2:0]     count;
  logic [4:0]     flags;
  logic [7:0]     noise;
  logic           clears, extra;
  wire  idle_bug = $test$plusargs("bug_idle") != 0;  // now and then takes operands that nobody offered
  wire  push     = (in_valid && in_ready) || (idle_bug && noise[4:0] == 0 && in_ready && number > 20);
  wire  pop      = out_valid && out_ready;
  wire  drop     = $test$plusargs("bug_few") != 0 && number == N - 1;
  answers #(.N(N), .KEY(KEY), .ANS(ANS)) table_of (
      .clk(clk), .take(push && !rst), .key(operands), .answer(answer), .number(number));
  initial clears = $test$plusargs("bug_clear") == 0;
  always @(posedge clk)
    if (rst) begin
      {head, tail, count, flags, seen, extra} <= 0;
      noise <= 1;
    end else begin
      noise <= {noise[6:0], noise[7] ^ noise[5] ^ noise[4] ^ noise[3]};
      if (push && !drop) begin
        entries[tail] <= answer;
        tail          <= tail + 1;
      end
      if (pop) begin
        head <= head + 1;
        seen <= seen + 1;
      end
      count <= count + {2'b0, push && !drop} - {2'b0, pop};
      if ($test$plusargs("bug_many") != 0 && pop && seen == N - 1 && !extra) begin
        count <= 1;
        extra <= 1;
      end
      if (clear === 1'b1 && clears) flags <= 0;
      else if (pop) flags <= flags | entries[head][4:0];
    end
  assign in_ready  = $test$plusargs("bug_xready") != 0 && seen == 9 ? 1'bx
                     : !rst && count < 4 && $test$plusargs("bug_deaf") == 0;
  assign out_valid = $test$plusargs("bug_xvalid") != 0 && seen == 9 ? 1'bx
                     : count > 0 && $test$plusargs("bug_dead") == 0;
  assign result    = entries[head][20:5] ^ {15'd0, $test$plusargs("bug_unstable") != 0 && seen > 30 && noise[0]};
  assign status    = flags | (NOW != 0 && out_valid ? entries[head][4:0] : 5'd0);
endmodule

// Eight slots that are emptied in no order.
module shuffle #(parameter N = 1, KEY = 32, ANS = 21) (
    input  logic        clk, rst_n, in_valid, out_ready,
    input  logic [31:0] operands,
    input  logic [2:0]  tag_in,
    output logic        in_ready, out_valid,
    output logic [2:0]  tag_out,
    output logic [15:0] result,
    output logic [4:0]  status
);
  logic [31:0]    number, order[0:7], latest, left;
  logic [ANS-1:0] answer, entries[0:7];
  logic [2:0]     tags[0:7];
  logic [7:0]     used, noise;
  logic           told;
  logic [2:0]     free, found;
  wire  push = in_valid && in_ready;
  answers #(.N(N), .KEY(KEY), .ANS(ANS)) table_of (
      .clk(clk), .take(push && rst_n), .key(operands), .answer(answer), .number(number));
  always @(used or noise) begin
    free  = 0;
    found = noise[2:0];
    for (int i = 0; i < 8; i = i + 1) begin
      if (!used[i]) free = i[2:0];
      if (!used[found]) found = found + 3'd1;
    end
  end
  always @(posedge clk)
    if (!rst_n) begin
      {used, out_valid, latest, told, left} <= 0;
      noise <= 1;
    end else begin
      noise <= {noise[6:0], noise[7] ^ noise[5] ^ noise[4] ^ noise[3]};
      if (push && !($test$plusargs("bug_few") != 0 && number == N - 1)) begin
        used[free]    <= 1;
        entries[free] <= answer;
        tags[free]    <= tag_in;
        order[free]   <= number;
      end
      if (!out_valid || out_ready) begin
        out_valid <= used[found] && noise[6] && $test$plusargs("bug_dead") == 0;
        if ($test$plusargs("bug_xvalid") != 0 && number == 40) out_valid <= 1'bx;
        if (used[found] && noise[6]) begin
          used[found]      <= 0;
          {result, status} <= entries[found];
          tag_out          <= tags[found] ^ {2'b0, $test$plusargs("bug_tags") != 0 && left == 50};
          left             <= left + 1;
          latest           <= order[found];
          if (order[found] < latest && !told) begin
            $display("reordered: operation %0d after %0d", order[found], latest);
            told <= 1;
          end
        end
        if ($test$plusargs("bug_many") != 0 && out_valid && left == N) out_valid <= 1;
      end
    end
  assign in_ready = $test$plusargs("bug_xready") != 0 && number == 40 ? 1'bx : rst_n && used != 8'hff;
endmodule
