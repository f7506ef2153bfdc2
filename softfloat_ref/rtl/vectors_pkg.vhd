-- SPDX-License-Identifier: 0BSD
-- Written by softfloat-ref for the vectors of @name@. VHDL-2008.
--
-- Slice a field as word(VEC_A). In a field with lanes, lane i is
-- word(VEC_A_LSB + i * VEC_A_STRIDE + VEC_A_WIDTH - 1 downto VEC_A_LSB + i * VEC_A_STRIDE).

library ieee;
use ieee.std_logic_1164.all;
use std.textio.all;

package vectors_pkg is

  constant VEC_FILE      : string  := "@name@.memh";
  constant VEC_TEXT_FILE : string  := "@name@.tv";
  constant VEC_COUNT     : natural := @count@;
  constant VEC_WIDTH     : natural := @width@;

@constants@
  subtype vec_word is std_logic_vector(VEC_WIDTH - 1 downto 0);

  -- Where a file is read: its kind, the number of its last line, the vectors so far.
  type vec_place is record
    as_text : boolean;
    at_line : natural;
    vectors : natural;
  end record;

  -- Open VEC_FILE in a folder, or VEC_TEXT_FILE, TestFloat's lines, if as_text.
  procedure open_vectors(
    file vectors     : text;
    variable place   : out vec_place;
    constant folder  : in string;
    constant as_text : in boolean := false
  );

  -- Read the next vector. found is false once, after the last of exactly
  -- VEC_COUNT vectors; any other content of the file ends the simulation.
  procedure read_vector(
    file vectors   : text;
    variable place : inout vec_place;
    variable word  : out vec_word;
    variable found : out boolean
  );

  -- FILE:LINE of the vector last read.
  function where_is(place : vec_place) return string;

  -- Lower-case hexadecimal; a digit with an unknown bit is an x.
  function hex(value : std_logic_vector) return string;

  -- Print a line.
  procedure say(constant message : in string);

  -- Print "FAIL: message" and end the simulation with an error.
  procedure fail(constant message : in string);

end package vectors_pkg;

package body vectors_pkg is

  -- A line's fields: codes of `width` bits and `digits` hexadecimal digits.
  type field_entry is record
    lsb, width, digits, lanes : natural;
  end record;
  type field_entries is array (positive range <>) of field_entry;

  constant FIELDS : field_entries(1 to @fields@) := (
@entries@
  );

  procedure say(constant message : in string) is
  begin
    write(output, message & LF);
  end procedure say;

  procedure fail(constant message : in string) is
  begin
    say("FAIL: " & message);
    report message severity failure;
    wait;  -- for simulators that continue after an error
  end procedure fail;

  function hex(value : std_logic_vector) return string is
    variable digits : string(1 to (value'length + 3) / 4) := to_hstring(value);
  begin
    for i in digits'range loop
      if digits(i) >= 'A' and digits(i) <= 'Z' then
        digits(i) := character'val(character'pos(digits(i)) + 32);
      end if;
    end loop;
    return digits;
  end function hex;

  function file_name(as_text : boolean) return string is
  begin
    if as_text then
      return VEC_TEXT_FILE;
    end if;
    return VEC_FILE;
  end function file_name;

  function where_is(place : vec_place) return string is
  begin
    return file_name(place.as_text) & ":" & to_string(place.at_line);
  end function where_is;

  procedure open_vectors(
    file vectors     : text;
    variable place   : out vec_place;
    constant folder  : in string;
    constant as_text : in boolean := false
  ) is
    constant PATH   : string := folder & "/" & file_name(as_text);
    variable status : file_open_status;
  begin
    place := (as_text => as_text, at_line => 0, vectors => 0);
    file_open(status, vectors, PATH, read_mode);
    if status /= open_ok then
      fail("cannot read " & PATH & "; set the generic folder");
    end if;
  end procedure open_vectors;

  -- Whether the first `count` characters are hexadecimal digits. hread itself
  -- would skip blanks and take X, Z and underscores.
  function starts_with_digits(text : string; count : natural) return boolean is
    alias chars : string(1 to text'length) is text;
  begin
    if chars'length < count then
      return false;
    end if;
    for i in 1 to count loop
      case chars(i) is
        when '0' to '9' | 'A' to 'F' | 'a' to 'f' => null;
        when others => return false;
      end case;
    end loop;
    return true;
  end function starts_with_digits;

  -- Take one code from the front of a line into its place in the word.
  procedure take_code(
    variable rest : inout line;
    variable word : inout vec_word;
    constant f    : in field_entry;
    constant lane : in natural;
    variable good : out boolean
  ) is
    constant LSB   : natural := f.lsb + 4 * f.digits * lane;
    variable value : std_logic_vector(4 * f.digits - 1 downto 0);
    variable valid : boolean;
  begin
    good := false;
    if starts_with_digits(rest.all, f.digits) then
      hread(rest, value, valid);
      word(LSB + value'high downto LSB) := value;
      good := valid;
      for i in f.width to value'high loop
        good := good and value(i) = '0';
      end loop;
    end if;
  end procedure take_code;

  -- Take the separator between two codes.
  procedure take_separator(variable rest : inout line; constant as_text : in boolean; variable good : out boolean) is
    variable char : character;
  begin
    read(rest, char, good);
    if as_text then
      good := good and char = ' ';
    else
      good := good and char = '_';
    end if;
  end procedure take_separator;

  -- Take a whole line: in text lane 0 of a field comes first, in words last.
  procedure take_line(
    variable rest    : inout line;
    constant as_text : in boolean;
    variable word    : out vec_word;
    variable good    : out boolean
  ) is
    variable lane  : natural;
    variable taken : vec_word := (others => '0');
  begin
    good := true;
    for i in FIELDS'range loop
      for n in 0 to FIELDS(i).lanes - 1 loop
        if good and (i > 1 or n > 0) then
          take_separator(rest, as_text, good);
        end if;
        if good then
          lane := n when as_text else FIELDS(i).lanes - 1 - n;
          take_code(rest, taken, FIELDS(i), lane, good);
        end if;
      end loop;
    end loop;
    good := good and (rest'length = 0 or rest.all = (1 => CR));
    word := taken;
  end procedure take_line;

  -- Whether a line of words is a comment or blank.
  function is_comment(content : string) return boolean is
    alias chars : string(1 to content'length) is content;
  begin
    return chars'length = 0 or chars(1) = '/' or chars(1) = CR;
  end function is_comment;

  procedure read_vector(
    file vectors   : text;
    variable place : inout vec_place;
    variable word  : out vec_word;
    variable found : out boolean
  ) is
    variable content : line;
    variable good    : boolean;
  begin
    found := false;
    while not found and not endfile(vectors) loop
      readline(vectors, content);
      place.at_line := place.at_line + 1;
      found := place.as_text or not is_comment(content.all);
    end loop;
    if found then
      place.vectors := place.vectors + 1;
      take_line(content, place.as_text, word, good);
      if not good then
        fail(where_is(place) & ": not a vector of " & to_string(FIELDS'length) & " fields with all their digits");
      elsif place.vectors > VEC_COUNT then
        fail(where_is(place) & ": more than the " & to_string(VEC_COUNT) & " vectors of vectors_pkg");
      end if;
    elsif place.vectors /= VEC_COUNT or VEC_COUNT = 0 then
      fail(file_name(place.as_text) & ": " & to_string(place.vectors) & " vectors, but vectors_pkg says "
           & to_string(VEC_COUNT));
    end if;
    deallocate(content);
  end procedure read_vector;

end package body vectors_pkg;
