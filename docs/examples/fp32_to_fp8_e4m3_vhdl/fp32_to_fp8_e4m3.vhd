-- SPDX-License-Identifier: 0BSD
--
-- FP32 -> OCP FP8 E4M3, combinational: round to nearest even, saturating.
-- The circuit of ../fp32_to_fp8_e4m3, in VHDL-2008.
--
--   FP32   s eeeeeeee fffffffffffffffffffffff   bias 127
--   E4M3   s eeee mmm                           bias 7, no infinity
--
-- E4M3 spends only S.1111.111 on NaN, so its top binade holds numbers up to
-- 7e = 1.75 * 2^8 = 448. Overflow and infinity give that largest number with
-- their own sign; every NaN gives 7f, without its sign or payload.
--
-- flags = invalid & divide by zero & overflow & underflow & inexact
--
-- The generic `defect` plants a bug; 0 is the correct circuit:
--   1  a tie rounds up, not to even
--   2  overflow is not saturated
--   3  truncates
--   4  sticky misses its five lowest bits
--   5  judges tininess before rounding
--   6  464, the tie between 448 and NaN's code, overflows
--   7  infinity raises overflow
--   8  NaN keeps its sign
--   9  the sign of a zero input is not driven: 'U'

library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity fp32_to_fp8_e4m3 is
  generic (
    defect : in natural := 0
  );
  port (
    a      : in  std_logic_vector(31 downto 0);
    result : out std_logic_vector(7 downto 0);
    flags  : out std_logic_vector(4 downto 0)
  );
end entity fp32_to_fp8_e4m3;

architecture rtl of fp32_to_fp8_e4m3 is

  constant LARGEST : unsigned(6 downto 0) := 7x"7e";
  constant NAN     : unsigned(6 downto 0) := 7x"7f";

  -- The FP32 exponent of E4M3's smallest normal number, 2^-6: 127 - 6.
  constant MIN_NORMAL : unsigned(7 downto 0) := to_unsigned(121, 8);

  -- Bit N is '1' if the generic plants defect N.
  function planted return std_logic_vector is
    variable bits : std_logic_vector(1 to 9) := (others => '0');
  begin
    assert defect <= bits'high report "there is no defect " & to_string(defect) severity failure;
    if defect > 0 then
      bits(defect) := '1';
    end if;
    return bits;
  end function planted;

  constant BUG : std_logic_vector(1 to 9) := planted;

begin

  convert : process (a) is
    variable sign                             : std_logic;
    variable exponent, below, field           : unsigned(7 downto 0);
    variable fraction                         : unsigned(22 downto 0);
    variable significand                      : unsigned(23 downto 0);
    variable is_special, is_nan, is_signaling : std_logic;
    variable is_small, reaches_normal         : std_logic;
    variable shift                            : natural range 0 to 5;
    variable aligned                          : unsigned(28 downto 0);
    variable kept                             : unsigned(3 downto 0);
    variable guard, sticky, round_up          : std_logic;
    variable magnitude                        : unsigned(10 downto 0);
    variable is_tiny, is_tie_to_nan           : std_logic;
    variable overflow, underflow, inexact     : std_logic;
  begin
    ------------------------------------------------------------------ unpack
    -- An FP32 subnormal lacks the hidden bit; else it is an input like any
    -- other.
    sign         := a(31);
    exponent     := unsigned(a(30 downto 23));
    fraction     := unsigned(a(22 downto 0));
    significand  := (or exponent) & fraction;
    is_special   := and exponent;
    is_nan       := is_special and (or fraction);
    is_signaling := is_nan and not fraction(22);

    ------------------------------------------------------------------- align
    -- Below 2^-6 the ulp of E4M3 stays 2^-9, so the significand moves right,
    -- one place for each binade. Five places take its leading bit past the
    -- guard bit and more would change nothing, hence the limit; it serves FP32
    -- subnormals too. The five zeros catch what moves out, for sticky.
    is_small := exponent ?< MIN_NORMAL;
    below    := MIN_NORMAL - exponent when is_small else 8d"0";
    shift    := 5 when below > 5 else to_integer(below(2 downto 0));
    aligned  := shift_right(significand & 5d"0", shift);

    ----------------------------------------------------------- guard, sticky
    -- aligned = i.mmm g ss...s: four bits stay, the guard bit is worth half an
    -- ulp, and sticky says whether anything at all lies below it.
    kept   := aligned(28 downto 25);
    guard  := aligned(24);
    sticky := (or aligned(23 downto 5)) or ((or aligned(4 downto 0)) and not BUG(4));

    ------------------------------------------------------------------- round
    -- Up when above half an ulp, and on a tie when the kept part is odd.
    round_up := guard and (sticky or kept(0) or BUG(1)) and not BUG(3);

    -- The codes of one sign are in the order of their numbers, so exponent and
    -- fraction round as one integer: its carry turns the largest subnormal
    -- into the smallest normal and 1.111 into the next binade's 1.000. The
    -- hidden bit adds the one by which a normal number's field exceeds a
    -- subnormal's. All the exponent's bits stay: overflow is judged on the
    -- rounded number.
    field     := 8d"0" when is_small else exponent - MIN_NORMAL;
    magnitude := (field & "000") + kept + ("" & round_up);

    ---------------------------------------------------------------- overflow
    -- 464 is halfway from 448 to the 480 that NaN's code would otherwise mean;
    -- being a tie it goes to 448, which is even, and does not overflow.
    is_tie_to_nan := unsigned(a(30 downto 0)) ?= 31x"43e80000";
    overflow      := (not is_special and ((magnitude ?> LARGEST) or (is_tie_to_nan and BUG(6))))
                     or (is_special and not is_nan and BUG(7));

    --------------------------------------------------------------- underflow
    -- A number is tiny if it is below 2^-6 when rounded to four bits as if the
    -- exponent had no lower end: so the unaligned significand is looked at.
    -- Only the binade just below can round up to 2^-6, from 1.111 with the
    -- guard bit set (1.111 is odd, so the guard bit alone decides). What
    -- aligned rounding stores as 2^-6 may therefore be tiny all the same.
    reaches_normal := (exponent ?= MIN_NORMAL - 1) and (and significand(22 downto 19));
    is_tiny        := is_small and (not reaches_normal or BUG(5));
    inexact        := not is_special and (guard or sticky or overflow);
    underflow      := is_tiny and inexact;

    -------------------------------------------------------------------- pack
    -- Infinity becomes the largest number without a flag: only finite numbers
    -- overflow. A signalling NaN is the one invalid input.
    if is_nan then
      result <= (sign and BUG(8)) & std_logic_vector(NAN);
    elsif is_special or (overflow and not BUG(2)) then
      result <= sign & std_logic_vector(LARGEST);
    else
      result <= sign & std_logic_vector(magnitude(6 downto 0));
    end if;
    if BUG(9) and not (or a(30 downto 0)) then
      result(7) <= 'U';
    end if;
    flags <= is_signaling & '0' & overflow & underflow & inexact;
  end process convert;

end architecture rtl;
