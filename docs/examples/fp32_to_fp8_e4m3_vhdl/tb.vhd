-- SPDX-License-Identifier: 0BSD
--
-- Drives fp32_to_fp8_e4m3 with generated vectors and compares every result and
-- every flag. The generic `folder` says where the vectors are.
--
-- "PASS: N of N vectors" appears only after N > 0 comparisons that all held.
-- All else gives a line that starts with FAIL and a nonzero exit code.

library ieee;
use ieee.std_logic_1164.all;
use std.textio.all;
use work.vectors_pkg.all;

entity tb is
  generic (
    folder  : string  := ".";
    as_text : boolean := false;  -- read TestFloat's lines instead of the words
    defect  : natural := 0       -- the bug to plant
  );
end entity tb;

architecture bench of tb is

  constant SHOWN : natural := 10;  -- mismatches printed in full

  signal a      : std_logic_vector(VEC_A_WIDTH - 1 downto 0) := (others => '0');
  signal result : std_logic_vector(VEC_RESULT_WIDTH - 1 downto 0);
  signal flags  : std_logic_vector(VEC_FLAGS_WIDTH - 1 downto 0);

begin

  dut : entity work.fp32_to_fp8_e4m3
    generic map (defect => defect)
    port map (a => a, result => result, flags => flags);

  check : process is
    file vectors        : text;
    variable place      : vec_place;
    variable word       : vec_word;
    variable found      : boolean;
    variable mismatches : natural := 0;
    alias want_result   : std_logic_vector(result'range) is word(VEC_RESULT);
    alias want_flags    : std_logic_vector(flags'range) is word(VEC_FLAGS);
  begin
    open_vectors(vectors, place, folder, as_text);
    loop
      read_vector(vectors, place, word, found);
      exit when not found;
      a <= word(VEC_A);
      wait for 1 ns;
      -- A word has only '0' and '1', and nothing else equals them: 'X' and 'U' are mismatches.
      if not (result = want_result and flags = want_flags) then
        mismatches := mismatches + 1;
        if mismatches <= SHOWN then
          say(where_is(place) & ": a=" & hex(a) & " expected " & hex(want_result) & " " & hex(want_flags)
              & " got " & hex(result) & " " & hex(flags));
        end if;
      end if;
    end loop;
    file_close(vectors);
    if mismatches > 0 then
      fail(to_string(mismatches) & " of " & to_string(VEC_COUNT) & " vectors");
    end if;
    say("PASS: " & to_string(place.vectors) & " of " & to_string(VEC_COUNT) & " vectors");
    wait;
  end process check;

end architecture bench;
