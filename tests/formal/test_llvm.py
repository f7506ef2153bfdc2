"""What is read of compiled functions is what they compute, and what LLVM does not define is found."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from llvmlite import binding
from numba import njit

from formal import llvm, llvm_source
from formal.llvm import Possible, Ran, Symbols, answers, ran, run
from formal.llvm_source import parsed
from softfloat_ref.symbolic.build import and_, concat, sext, zext
from softfloat_ref.symbolic.paths import Unsupported
from softfloat_ref.symbolic.terms import Term, const, evaluator, signed, var

ARRAY = "ptr %{0}.0, ptr %{0}.1, i64 %{0}.2, i64 %{0}.3, ptr %{0}, i64 %{0}.5, i64 %{0}.6"
PLACES = ", ".join(ARRAY.format(name) for name in ("pa", "pb", "pc", "out"))
TABLES = [
    "@variable = internal global [1 x i8] [i8 1]",
    "@weak = weak constant [1 x i8] [i8 1]",
    '@bytes = internal constant [4 x i8] c"\\01a\\5C\\FF", align 4',
    "@words = constant [2 x i16] [i16 5, i16 -1], align 2",
]
RANGE = "!0 = !{i8 0, i8 3}"
TWO = ("smax", "smin", "umax", "umin", "usub.sat")
ORDERS = ("eq", "ne", "ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge")
SOMETIMES = ("shl", "lshr", "ashr", "udiv", "urem", "sdiv", "srem")  # defined
EDGES = [0, 1, 2, 7, 8, 9, 127, 128, 129, 254, 255]
PAIRS = [(a, b) for a in EDGES for b in EDGES] + [divmod(random.Random(k).randrange(1 << 16), 256) for k in range(300)]


def text(body: str) -> str:
    """A function of three bytes whose result, of 32 bits, is in %r."""
    loads = "\n".join(f"%{x} = load i8, ptr %p{x}" for x in "abc")
    used = [f"declare i8 @llvm.{n}.i8(i8, i8)" for n in TWO]
    used += [f"declare i8 @llvm.{n}.i8(i8, i1)" for n in ("abs", "ctlz")]
    used += [f"declare i8 @llvm.{n}.i8(i8, i8, i8)" for n in ("fshl", "fshr")] + ["declare i8 @llvm.bitreverse.i8(i8)"]
    head = f"define i32 @f(ptr %ret, ptr %exc, {PLACES}) {{"
    return "\n".join([*used, *TABLES, head, loads, body, "store i32 %r, ptr %out", "ret i32 0", "}", RANGE, ""])


def read(body: str) -> Ran:
    byte = np.zeros(1, np.uint8)
    return ran(parsed(text(body), "f"), *(Symbols(byte, [var(x, 8)]) for x in "abc"), np.zeros(1, np.uint32))


def compiled(body: str) -> Callable[[int, int, int], int]:
    """The function as this machine runs it, without optimization."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    module = binding.parse_assembly(text(body))
    engine = binding.create_mcjit_compiler(module, binding.Target.from_default_triple().create_target_machine(opt=0))
    engine.finalize_object()
    kinds = [ctypes.c_void_p] * 2 + (
        [ctypes.c_void_p] * 2 + [ctypes.c_int64] * 2 + [ctypes.c_void_p] + [ctypes.c_int64] * 2
    ) * 4
    call = ctypes.CFUNCTYPE(ctypes.c_int32, *kinds)(engine.get_function_address("f"))

    def work(*values: int) -> int:
        places = [ctypes.c_uint8(x) for x in values] + [ctypes.c_uint32(0)]
        call(None, None, *(y for x in places for y in (None, None, 1, 1, ctypes.addressof(x), 1, 1)))
        return int(places[-1].value)

    work.engine = engine  # type: ignore[attr-defined]
    return work


def one(op: str, width: int = 8) -> str:
    return f"%x = {op} i8 %a, %b\n%r = {'zext' if width < 32 else 'bitcast'} i{width} %x to i32"


def in_table(index: str, load: str = "load i8, ptr %p") -> str:
    place = "%p = getelementptr inbounds [4 x i8], ptr @bytes, i64 0, i64 %j"
    return f"{index}\n%j = zext i8 %i to i64\n{place}\n%x = {load}\n%r = zext i8 %x to i32"


FLOAT = "%w = {} i8 %a to i32\n%y = mul i32 %w, 33554831\n%x = {} i32 %y to float\n%r = bitcast float %x to i32"
BODIES = {
    "bytes": in_table("%i = and i8 %a, 3"),
    "words": """%i = and i8 %a, 1
%j = zext i8 %i to i64
%p = getelementptr inbounds [2 x i16], ptr @words, i64 0, i64 %j
%x = load i16, ptr %p
%r = zext i16 %x to i32""",
    **{op: one(op) for op in ("add", "sub", "mul", "and", "or", "xor", *SOMETIMES)},
    **{f"icmp {order}": one(f"icmp {order}", 1) for order in ORDERS},
    **{n: f"%x = call i8 @llvm.{n}.i8(i8 %a, i8 %b)\n%r = sext i8 %x to i32" for n in TWO},
    **{n: f"%x = call i8 @llvm.{n}.i8(i8 %a, i8 %b, i8 %c)\n%r = zext i8 %x to i32" for n in ("fshl", "fshr")},
    **{n: f"%x = call i8 @llvm.{n}.i8(i8 %a, i1 false)\n%r = zext i8 %x to i32" for n in ("abs", "ctlz")},
    "select": "%x = icmp slt i8 %a, %c\n%y = select i1 %x, i8 %b, i8 3\n%r = sext i8 %y to i32",
    "trunc": "%x = trunc i8 %a to i3\n%r = sext i3 %x to i32",
    "mask": "%x = zext i8 %a to i32\n%y = and i32 %x, 20\n%z = shl i32 %y, 3\n%w = or i32 %z, 5\n%r = add i32 %w, 1024",
    "table": "%x = zext i8 %a to i32\n%y = mul i32 %x, 8\n%z = add i32 %y, 3\n%w = mul i32 %z, 4\n%r = lshr i32 %w, 2",
    "switch": """switch i8 %a, label %other [ i8 1, label %one
 i8 -2, label %two ]
one:
%x = add i8 %b, %c
br label %end
two:
%y = mul i8 %b, %c
br label %end
other:
%t = icmp ult i8 %b, %c
br i1 %t, label %end, label %last
last:
br label %end
end:
%m = phi i8 [ %x, %one ], [ %y, %two ], [ 9, %other ], [ %c, %last ]
%r = sext i8 %m to i32""",
    "rounds": """br label %head
head:
%k = phi i8 [ 0, %0 ], [ %next, %tail ]
%sum = phi i8 [ %c, %0 ], [ %new, %tail ]
%at = lshr i8 %a, %k
%odd = trunc i8 %at to i1
br i1 %odd, label %add, label %tail
add:
%more = add i8 %sum, %b
br label %tail
tail:
%new = phi i8 [ %sum, %head ], [ %more, %add ]
%next = add nuw nsw i8 %k, 1
%done = icmp eq i8 %next, 7
br i1 %done, label %end, label %head
end:
%r = zext i8 %new to i32""",
    "signed float": FLOAT.format("sext", "sitofp"),
    "unsigned float": FLOAT.format("zext", "uitofp"),
    "float of a byte": "%x = sitofp i8 %a to float\n%r = bitcast float %x to i32",
    "vector": """%v = insertelement <2 x i8> poison, i8 %a, i64 0
%w = insertelement <2 x i8> %v, i8 %b, i64 1
%s = shufflevector <2 x i8> %w, <2 x i8> poison, <2 x i32> <i32 1, i32 0>
%u = add <2 x i8> %s, splat (i8 3)
%q = mul <2 x i8> %u, <i8 5, i8 7>
%x = extractelement <2 x i8> %q, i64 0
%y = extractelement <2 x i8> %q, i64 1
%z = xor i8 %x, %y
%r = zext i8 %z to i32""",
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_operations_are_the_processors(name: str) -> None:
    """Where the result is defined."""
    module, work = read(BODIES[name]), compiled(BODIES[name])
    terms = evaluator([module.arrays[3][0], module.broken])
    count = 0
    for k, (a, b) in enumerate(PAIRS):
        values = {"a": a, "b": b, "c": k * 37 % 256}
        result, broken = terms(values)
        if not broken:
            count += 1
            assert result == work(*values.values()), values
    assert 20 < count < len(PAIRS) if name in SOMETIMES else count == len(PAIRS)


def test_masks_and_multiples_keep_their_zeros() -> None:
    """Addresses of tables are such terms: the bits that are known are seen to be."""
    (result,) = read(BODIES["table"]).arrays[3]
    assert result is zext(concat(var("a", 8), const(3, 3)), 32)


# -- promises ----------------------------------------------------------------------------------------------------------


def fits(x: int, lo: int, hi: int) -> bool:
    return lo <= x <= hi


def number(x: int) -> int:
    return signed(x, 8)


PROMISES: dict[str, Callable[[int, int], bool]] = {
    "add nuw": lambda a, b: a + b < 256,
    "add nsw": lambda a, b: fits(number(a) + number(b), -128, 127),
    "add nuw nsw": lambda a, b: a + b < 256 and fits(number(a) + number(b), -128, 127),
    "sub nuw": lambda a, b: a >= b,
    "sub nsw": lambda a, b: fits(number(a) - number(b), -128, 127),
    "mul nuw": lambda a, b: a * b < 256,
    "mul nsw": lambda a, b: fits(number(a) * number(b), -128, 127),
    "shl": lambda a, b: b < 8,
    "shl nuw": lambda a, b: b < 8 and a << b < 256,
    "shl nsw": lambda a, b: b < 8 and fits(number(a) << b, -128, 127),
    "lshr": lambda a, b: b < 8,
    "lshr exact": lambda a, b: b < 8 and a % (1 << b) == 0,
    "ashr exact": lambda a, b: b < 8 and a % (1 << b) == 0,
    "or disjoint": lambda a, b: a & b == 0,
    "udiv": lambda a, b: b != 0,
    "udiv exact": lambda a, b: b != 0 and a % b == 0,
    "srem": lambda a, b: b != 0 and (a, b) != (128, 255),
    "sdiv": lambda a, b: b != 0 and (a, b) != (128, 255),
    "icmp samesign ult": lambda a, b: a >> 7 == b >> 7,
}
OF_ONE: dict[str, tuple[str, Callable[[int], bool]]] = {
    "trunc nuw": ("%x = trunc nuw i8 %a to i4\n%r = zext i4 %x to i32", lambda a: a < 16),
    "trunc nsw": ("%x = trunc nsw i8 %a to i4\n%r = zext i4 %x to i32", lambda a: fits(number(a), -8, 7)),
    "zext nneg": ("%r = zext nneg i8 %a to i32", lambda a: a < 128),
    "uitofp nneg": ("%x = uitofp nneg i8 %a to float\n%r = bitcast float %x to i32", lambda a: a < 128),
    "abs": ("%x = call i8 @llvm.abs.i8(i8 %a, i1 true)\n%r = zext i8 %x to i32", lambda a: a != 128),
    "ctlz": ("%x = call i8 @llvm.ctlz.i8(i8 %a, i1 true)\n%r = zext i8 %x to i32", lambda a: a != 0),
    "range": (
        "%x = call range(i8 0, 3) i8 @llvm.ctlz.i8(i8 %a, i1 false)\n%r = zext i8 %x to i32", lambda a: a >= 32,
    ),
    "range in metadata": (
        "%x = call i8 @llvm.ctlz.i8(i8 %a, i1 false), !range !0\n%r = zext i8 %x to i32", lambda a: a >= 32,
    ),
    "range with signs": (
        "%x = call range(i8 -2, 3) i8 @llvm.smax.i8(i8 %a, i8 -128)\n%r = zext i8 %x to i32",
        lambda a: fits(number(a), -2, 2),
    ),
    "noundef": (
        "%x = add nuw i8 %a, 1\n%y = call i8 @llvm.ctlz.i8(i8 noundef %x, i1 false)\n%r = zext i8 %a to i32",
        lambda a: a < 255,
    ),
    "place in a table": (in_table("%i = add i8 %a, 0"), lambda a: a < 4),
    "alignment": (in_table("%i = and i8 %a, 3", "load i8, ptr %p, align 2"), lambda a: a % 2 == 0),
    "alignment of a table": (in_table("%i = and i8 %a, 0", "load i8, ptr %p, align 8"), lambda a: False),
}  # fmt: skip


@pytest.mark.parametrize("name", PROMISES)
def test_a_promise_that_is_broken_is_seen(name: str) -> None:
    broken = evaluator([read(one(name, 1 if "icmp" in name else 8)).broken])
    for a, b in PAIRS:
        assert broken({"a": a, "b": b, "c": 0}) == [not PROMISES[name](a, b)], (a, b)


@pytest.mark.parametrize("name", OF_ONE)
def test_a_promise_about_one_number_is_seen(name: str) -> None:
    body, condition = OF_ONE[name]
    broken = evaluator([read(body).broken])
    assert [broken({"a": a, "b": 0, "c": 0})[0] for a in range(256)] == [not condition(a) for a in range(256)]


def test_a_promise_that_is_not_known_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llvm_source, "_FLAGS", frozenset(("nsw",)))
    assert read(one("add nsw"))
    with pytest.raises(Unsupported, match="LLVM's add nuw"):
        read(one("add nuw nsw"))


def test_poison_that_is_not_chosen_does_no_harm() -> None:
    module = read("%x = shl i8 %a, %b\n%t = icmp ult i8 %b, 8\n%y = select i1 %t, i8 %x, i8 1\n%r = zext i8 %y to i32")
    run = evaluator([module.arrays[3][0], module.broken])
    assert run({"a": 3, "b": 9, "c": 0}) == [1, 0]
    assert run({"a": 3, "b": 2, "c": 0}) == [12, 0]


def test_a_way_chosen_by_poison_is_seen() -> None:
    body = """%x = shl i8 %a, %b
%t = icmp eq i8 %x, 0
br i1 %t, label %end, label %end
end:
%r = zext i8 %c to i32"""
    broken = evaluator([read(body).broken])
    assert broken({"a": 1, "b": 8, "c": 0}) == [1]
    assert broken({"a": 1, "b": 7, "c": 0}) == [0]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%x = sitofp i8 %a to double\n%y = bitcast double %x to i64\n%r = trunc i64 %y to i32", "sitofp to double"),
        ("%y = zext i8 %a to i64\n%x = uitofp i64 %y to float\n%r = bitcast float %x to i32", "uitofp of 64 bits"),
        ("%x = sitofp i8 %a to float\n%y = fadd float %x, %x\n%r = bitcast float %y to i32", "LLVM's fadd"),
        ("%x = call i8 @llvm.bitreverse.i8(i8 %a)\n%r = zext i8 %x to i32\n", "LLVM's bitreverse"),
        ("%p = getelementptr i8, ptr %pa, i8 %a\nstore i8 1, ptr %p\n%r = zext i8 %a to i32", "a symbolic place"),
        ("%p = getelementptr i8, ptr %pa, i64 1\nstore i8 1, ptr %p\n%r = zext i8 %a to i32", "outside an array"),
        ("%x = load i16, ptr %pa\n%r = zext i16 %x to i32", "an element of another width"),
        ("%q = alloca i64\nstore i64 0, ptr %q\n%p = getelementptr i8, ptr %q, i64 4\nstore i32 1, ptr %p\n"
         "%r = zext i8 %a to i32", "a value in a part of another"),
        ("%q = alloca i64\nstore i32 0, ptr %q\n%y = load i64, ptr %q\n%r = trunc i64 %y to i32", "of another width"),
        ("%x = load i8, ptr %pa, !range !{i8 0, i8 5}\n%r = zext i8 %x to i32", "a promise about what is loaded"),
        ("store i8 1, ptr @bytes\n%r = zext i8 %a to i32", "a store into a constant array"),
        ("%x = load i8, ptr @variable\n%r = zext i8 %x to i32", "belongs to no argument"),
        ("%x = load i8, ptr @weak\n%r = zext i8 %x to i32", "belongs to no argument"),
        ("%x = load i8, ptr %pa, !noundef !{}\n%r = zext i8 %x to i32", "a promise about what is loaded"),
        ("%p = getelementptr [4 x i8], ptr @bytes, i64 1, i64 %pa.5\n%x = load i8, ptr %p\n%r = zext i8 %x to i32",
         "several indices"),
        ("%x = load i32, ptr null\n%r = add i32 %x, 0", "memory that belongs to no argument"),
        ("br label %l\nl:\n%k = phi i8 [ 0, %0 ], [ %n, %l ]\n%n = add i8 %k, 2\n%t = icmp eq i8 %n, 1\n"
         "br i1 %t, label %end, label %l\nend:\n%r = zext i8 %n to i32", "does not end"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused(body: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llvm, "_MOST", 1 << 9)
    with pytest.raises(Unsupported, match=message):
        read(f"{body}")


def test_an_address_that_overflows_is_seen() -> None:
    """Only where that is promised not to happen."""
    for promise, breaks in (("inbounds ", True), ("", False)):
        body = f"""%x = zext i8 %a to i64
%y = shl i64 %x, 61
%p = getelementptr {promise}i64, ptr %out, i64 %y
%t = icmp eq ptr %p, %out
%r = zext i1 %t to i32"""
        broken = evaluator([read(body).broken])
        assert [broken({"a": a, "b": 0, "c": 0})[0] for a in (0, 1, 8)] == [0, int(breaks), 0]


def test_single_values_in_memory() -> None:
    body = """%q = alloca [2 x i32]
%p = getelementptr i8, ptr %q, i64 4
%x = zext i8 %a to i32
store i32 %x, ptr %q
store i32 7, ptr %p
%t = icmp ult i8 %b, %c
br i1 %t, label %one, label %end
one:
store i32 9, ptr %p
br label %end
end:
%y = load i32, ptr %q
%z = load i32, ptr %p
%r = add i32 %y, %z"""
    module = read(body)
    work = evaluator([module.arrays[3][0], module.broken])
    assert work({"a": 5, "b": 1, "c": 2}) == [14, 0]
    assert work({"a": 5, "b": 2, "c": 2}) == [12, 0]


def test_text_that_is_no_module_is_refused() -> None:
    with pytest.raises(Unsupported, match="LLVM's text"):
        parsed("nothing", "f")


# -- what Numba compiles -----------------------------------------------------------------------------------------------


@njit
def _looked_up(x: Any, table: Any, out: Any) -> None:
    for i in range(x.size):
        out[i] = table[x[i], 1] if x[i] > 3 else table[0, 0] * x[i]


def test_places_in_tables() -> None:
    table = np.arange(100, 120).reshape(10, 2) * 7
    a = var("a", 64)
    result = run(_looked_up, Symbols(np.zeros(1, np.int64), [a]), table, np.zeros(1, np.int64))
    work = evaluator([result.arrays[2][0], result.broken])
    for x in range(10):
        assert work({"a": x}) == [int(table[x, 1] if x > 3 else table[0, 0] * x), 0]
    assert work({"a": 10})[1] == 1
    assert work({"a": 1 << 40})[1] == 1
    assert all(len(row) for row in result.arrays)


@njit
def _divided(x: Any, y: Any, out: Any) -> None:
    out[0] = x[0] // y[0]


def test_an_error_that_is_raised_is_seen() -> None:
    x, y = (Symbols(np.zeros(1, np.int64), [sext(var(n, 8), 64)]) for n in "ab")
    ran = run(_divided, x, y, np.zeros(1, np.int64))
    work = evaluator([ran.arrays[2][0], ran.broken])
    for a, b in PAIRS:
        result, broken = work({"a": a, "b": b})
        assert broken == (b == 0)
        assert b == 0 or signed(result, 64) == number(a) // number(b)


@njit
def _helped(x: Any, out: Any) -> None:
    total = 0
    for i in range(x.size):
        if x[i] & 1:
            total += x[i] * 3
        elif x[i] > 100:
            total -= 1
    out[0] = total


def test_loops_over_symbols() -> None:
    names = [f"x{i}" for i in range(9)]
    symbols = Symbols(np.zeros(9, np.int64), [zext(var(n, 8), 64) for n in names])
    result = run(_helped, symbols, np.zeros(1, np.int64))
    work, rnd = evaluator([result.arrays[1][0], result.broken]), random.Random(1)
    for _ in range(200):
        x = np.array([rnd.randrange(256) for _ in names])
        out = np.zeros(1, np.int64)
        _helped(x, out)
        assert work(dict(zip(names, x.tolist(), strict=True))) == [int(out[0]) & ((1 << 64) - 1), 0]


# -- functions that leave words, and what clang makes ------------------------------------------------------------------


def left(body: str, *more: str, possible: Possible = lambda conditions: True) -> Callable[[dict[str, int]], list[int]]:
    """The two words that a function of a byte leaves at %out, and whether it is broken."""
    head = "define void @f(i64 %x, ptr %out) {\n%a = trunc i64 %x to i8"
    own = "\n".join([*more, head, body, "ret void", "}", ""])
    result = answers(parsed(own, "f"), 2, zext(var("a", 8), 64), possible=possible)
    return evaluator([*result.arrays[0], result.broken])


STORED = "store i64 %u, ptr %out\n%q = getelementptr i64, ptr %out, i64 1\nstore i64 %v, ptr %q"
STATE = "@state = dso_local local_unnamed_addr global i8 3, align 1"


def test_words_that_are_left() -> None:
    run = left(f"%u = zext i8 %a to i64\n%v = add i64 %u, 1\n{STORED}")
    assert run({"a": 7}) == [7, 8, 0]


def test_a_word_that_is_not_left_is_seen() -> None:
    run = left("%u = zext i8 %a to i64\nstore i64 %u, ptr %out")
    assert run({"a": 7})[2] == 1
    run = left(f"""%u = zext i8 %a to i64
%c = icmp eq i8 %a, 9
br i1 %c, label %one, label %end
one:
{STORED.replace("%v", "%u")}
br label %end
end:""")
    assert [run({"a": a})[2] for a in (8, 9)] == [1, 0]


def test_variables_are_unknown_before_something_is_stored() -> None:
    body = "%s = load i8, ptr @state\n%u = zext i8 %s to i64\n%v = zext i8 %a to i64"
    run = left(f"{body}\n{STORED}", STATE)
    assert run({"a": 3})[2] == 1
    run = left(f"store i8 %a, ptr @state\n{body}\n{STORED}", STATE)
    assert run({"a": 5}) == [5, 5, 0]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%s = load volatile i8, ptr @state", "LLVM's load of memory that others change"),
        ("store volatile i8 %a, ptr @state", "LLVM's store of memory that others change"),
        ("%s = load atomic i8, ptr @state monotonic, align 1", "LLVM's load of memory that others change"),
        ("%s = load i8, ptr @elsewhere", "belongs to no argument"),
    ],
)
def test_variables_that_others_change_are_refused(body: str, message: str) -> None:
    with pytest.raises(Unsupported, match=message):
        left(body, STATE, "@elsewhere = thread_local global i8 3")


PAIR = """define internal { i64, i64 } @pair(i8 %a) {
%c = icmp ult i8 %a, 9
br i1 %c, label %one, label %end
one:
%u = zext i8 %a to i64
%p = insertvalue { i64, i64 } { i64 undef, i64 5 }, i64 %u, 0
br label %end
end:
%r = phi { i64, i64 } [ %p, %one ], [ zeroinitializer, %0 ]
ret { i64, i64 } %r
}"""


def test_structures() -> None:
    body = """%p = call { i64, i64 } @pair(i8 %a)
%u = extractvalue { i64, i64 } %p, 0
%v = extractvalue { i64, i64 } %p, 1"""
    run = left(f"{body}\n{STORED}", PAIR)
    assert [run({"a": a}) for a in (0, 8, 9)] == [[0, 5, 0], [8, 5, 0], [0, 0, 0]]
    run = left(f"{body}\n{STORED}", PAIR.replace("%u, 0", "%u, 1"))
    assert run({"a": 8})[1:] == [8, 1]  # the other one is undefined


def test_ranges_are_those_of_the_function() -> None:
    """In the text of an instruction, a node has another number than in that of the module."""
    other = """declare i8 @llvm.ctlz.i8(i8, i1)
define internal i8 @other(i8 %a) {
%x = call i8 @llvm.ctlz.i8(i8 %a, i1 false), !range !0
ret i8 %x
}
define internal i8 @more(i8 %a) {
%x = call i8 @llvm.ctlz.i8(i8 %a, i1 false), !range !1
ret i8 %x
}
!named = !{!2, !3}
!0 = !{i8 0, i8 3}
!1 = !{i8 0, i8 5}
!2 = !{i8 0, i8 7}
!3 = !{i8 0, i8 9}"""
    for name, limit in (("other", 3), ("more", 5)):
        run = left(f"%s = call i8 @{name}(i8 %a)\n%u = zext i8 %s to i64\n%v = add i64 %u, 0\n{STORED}", other)
        assert [run({"a": a})[2] for a in range(1, 256)] == [int(8 - a.bit_length() >= limit) for a in range(1, 256)]


USED = f"%s = call i8 @same(i8 %a)\n%u = zext i8 %s to i64\n%v = add i64 %u, 0\n{STORED}"


def test_a_range_of_an_argument_is_refused() -> None:
    with pytest.raises(Unsupported, match="the promises of the function same"):
        left(USED, "define internal i8 @same(i8 range(i8 0, 5) %a) {\nret i8 %a\n}")


def test_a_range_of_what_a_function_returns_is_seen() -> None:
    run = left(USED, "define internal range(i8 -2, 5) i8 @same(i8 %a) {\nret i8 %a\n}")
    assert [run({"a": a})[2] for a in (253, 254, 4, 5)] == [1, 0, 0, 1]


def test_the_range_of_a_call_is_seen() -> None:
    own = "define internal i8 @same(i8 %a) {\nret i8 %a\n}\n!0 = !{i8 2, i8 9}"
    run = left(f"%s = call i8 @same(i8 %a), !range !0\n%u = zext i8 %s to i64\n%v = add i64 %u, 0\n{STORED}", own)
    assert [run({"a": a})[2] for a in (1, 2, 8, 9)] == [1, 0, 0, 1]


ROOM = """%p = alloca [2 x %struct.byte]
%s = alloca [4 x i8]
%first = getelementptr inbounds [2 x %struct.byte], ptr %p, i64 0, i64 0, i32 0
%second = getelementptr inbounds %struct.byte, ptr %p, i64 1, i32 0
store i8 %a, ptr %first
store i8 7, ptr %second
%to = getelementptr inbounds [4 x i8], ptr %s, i64 0, i64 0
%last = getelementptr inbounds i8, ptr %s, i64 1
store i8 9, ptr %last
call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %p, i64 {size}, i1 false)
%x1 = load i8, ptr %to
%x2 = load i8, ptr %last
%u = zext i8 %x1 to i64
%v = zext i8 %x2 to i64"""
BYTE = "%struct.byte = type { i8 }\ndeclare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"


def test_copies() -> None:
    for size, expected in ((1, [5, 9, 0]), (2, [5, 7, 0])):
        assert left(f"{ROOM.format(size=size)}\n{STORED}", BYTE)({"a": 5}) == expected
    with pytest.raises(Unsupported, match="a copy of values in parts"):
        left(f"{ROOM.format(size=3)}\n{STORED}", BYTE)
    with pytest.raises(Unsupported, match="several indices"):
        left(f"{ROOM.format(size=1)}\n{STORED}", BYTE.replace("{ i8 }", "{ i8, i8 }"))


ROUNDS = """%n = urem i8 %a, 5
br label %head
head:
%k = phi i8 [ 0, %0 ], [ %next, %head ]
%next = add i8 %k, 1
%more = icmp ult i8 %next, %n
br i1 %more, label %head, label %end
end:
%u = zext i8 %k to i64
%v = zext i8 %n to i64"""


def test_loops_of_which_it_is_known_whether_they_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llvm, "_MOST", 1 << 6)
    with pytest.raises(Unsupported, match="does not end"):
        left(f"{ROUNDS}\n{STORED}")

    def possible(conditions: Sequence[Term]) -> bool:
        run = evaluator([and_(*conditions)])
        return any(run({"a": a})[0] for a in range(256))

    run = left(f"{ROUNDS}\n{STORED}", possible=possible)
    assert [run({"a": a}) for a in range(8)] == [[max(a % 5 - 1, 0), a % 5, 0] for a in range(8)]
