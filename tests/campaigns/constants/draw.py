"""Constant expressions of SystemVerilog at random: literals of every base and sign, operators, casts, functions."""

from __future__ import annotations

from random import Random
from typing import Final

UNARY: Final = ("-", "+", "~", "!", "&", "|", "^", "~&", "~|", "~^")
BINARY: Final = (
    *("+", "-", "*", "/", "%", "**", "&", "|", "^", "~^", "<<", ">>", "<<<", ">>>", "&&", "||"),
    *("==", "!=", "===", "!==", "<", "<=", ">", ">="),
)
TYPES: Final = (
    *("", "", "signed", "[7:0]", "[11:0]", "signed [7:0]", "signed [31:0]", "int", "int unsigned", "byte", "shortint"),
    *("longint", "integer", "bit [4:0]", "logic [32:0]", "signed [40:0]"),
)
HELPERS: Final = """
  typedef enum logic signed [3:0] {E0 = -3, E1, E2 = 4, E3} e_t;
  typedef enum {F0, F1 = 7, F2} f_t;
  typedef struct packed {logic signed [3:0] h; logic [2:0] l;} s_t;
  localparam [7:0] P0 = 8'hf1;
  localparam signed [5:0] P1 = -6'sd11;
  localparam P2 = 16'sh8001, P3 = 200, P4 = "ab";
  localparam int P5 = -7;
  localparam signed [6:0] P6 = 7'b1110101;
  function automatic signed [8:0] f0(input signed [6:0] x, input [3:0] n);
    f0 = 1;
    for (int i = 0; i < n; i = i + 1) f0 = f0 * x - i;
  endfunction
  function automatic int f1(input int x);
    f1 = 0;
    while (x > 1) begin
      x = x / 3;
      f1 = f1 + 1;
    end
  endfunction
  function automatic [9:0] f2(input [9:0] x);
    case (x % 3)
      0: f2 = {x[4:0], x[9:5]};
      1: f2 = x[7-:4];
      default: f2 = ~x;
    endcase
  endfunction
"""
NAMES: Final = ("P0", "P1", "P2", "P3", "P5", "P6", "E0", "E1", "E2", "E3", "F0", "F1", "F2")


class Drawn:
    """Expressions by one source of random numbers. reals: with real numbers among them."""

    def __init__(self, seed: int, reals: bool) -> None:
        self.words, self.reals = Random(seed), reals

    def declaration(self, name: str) -> str:
        """A parameter of a type, and its value."""
        return f"localparam {self.words.choice(TYPES)} {name} = {self.expression(self.words.randint(1, 3))};"

    def expression(self, depth: int) -> str:
        """An expression of so many levels at most."""
        if depth == 0 or self.words.random() < 0.1:
            return self.leaf()
        return self.words.choice((self._unary, self._binary, self._binary, self._binary, self._other))(depth - 1)

    def leaf(self) -> str:
        """A literal or a name."""
        pick = self.words.random()
        if self.reals and pick < 0.3:
            return self.words.choice(("2.0", "0.5", "1.5e1", "-3.0", "3.25", "1e3", "7.0", "$itor(9)"))
        if pick < 0.3:
            return str(self.words.choice((0, 1, 2, 3, 7, 8, 100, 255, 2147483647, self.words.getrandbits(20))))
        if pick < 0.7:
            return self._sized()
        if pick < 0.75:
            return self.words.choice(("'0", "'1", "'h7f", "'d9", "'sd12", "'sh8"))
        return self.words.choice(NAMES)

    def _sized(self) -> str:
        width = self.words.choice((1, 2, 3, 4, 7, 8, 9, 15, 16, 31, 32, 33, 40))
        sign, base = self.words.choice(("", "", "s")), self.words.choice("hdbo")
        value = self.words.choice((0, 1, (1 << width) - 1, 1 << width - 1, self.words.getrandbits(width)))
        return f"{width}'{sign}{base}{format(value, {'h': 'x', 'd': 'd', 'b': 'b', 'o': 'o'}[base])}"

    def _unary(self, depth: int) -> str:
        return f"{self.words.choice(UNARY)}({self.expression(depth)})"

    def _binary(self, depth: int) -> str:
        op = self.words.choice(BINARY)
        right = self.expression(depth)
        if op in ("<<", ">>", "<<<", ">>>"):
            right = self.words.choice((str(self.words.randint(0, 40)), f"3'd{self.words.randint(0, 7)}", self._sized()))
        elif op == "**":
            right = str(self.words.randint(0, 5))
        elif op in ("/", "%") and self.words.random() < 0.8:
            right = self.words.choice(("3", "8'd254", "4'sd7", "-5", "8'sd3", "-8'sd3", "P1", "P0", "P5"))
        return f"({self.expression(depth)} {op} {right})"

    def _other(self, depth: int) -> str:
        x = self.expression
        kind = self.words.randrange(16)
        size = self.words.choice((1, 3, 4, 8, 12, 33))
        forms = (
            lambda: f"({x(depth)} ? {x(depth)} : {x(depth)})",
            lambda: f"{{{self._sized()}, {self._sized()}}}",
            lambda: f"{{{self.words.randint(1, 3)}{{{self._sized()}}}}}",
            lambda: f"{size}'({x(depth)})",
            lambda: f"$signed({x(depth)})",
            lambda: f"$unsigned({x(depth)})",
            lambda: f"signed'({x(depth)})",
            lambda: f"unsigned'({x(depth)})",
            lambda: f"{self.words.choice(('int', 'byte', 'shortint', 'integer'))}'({x(depth)})",
            lambda: f"$clog2({self.words.choice((0, 1, 2, 5, 64, 65, 1000))})",
            lambda: f"$bits({self.words.choice(('P0', 'P1', 'P6', 'P0 + P2', '{P0, P1}'))})",
            lambda: f"f0({x(depth)}, 4'd{self.words.randint(0, 6)})",
            lambda: f"f1({x(depth)})",
            lambda: f"f2({x(depth)})",
            lambda: f"P0[{self.words.choice(('3', '7:4', '5:5', '6-:3', '1+:4'))}]",
            lambda: f"{self.words.choice(('$countones', '$onehot', '$onehot0'))}({x(depth)})",
        )
        return forms[kind]()
