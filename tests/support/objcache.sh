#!/bin/sh
# objcache.sh FOLDER COMPILER ARGUMENT...: the command that Verilator's makefiles put before the compiler's ($OBJCACHE).
# Objects are kept in FOLDER, by command and content. Verilator's runtime is the same in every bench and takes most of
# the time to build one, its headers most of the rest; a circuit is built by several tests. They are compiled without
# optimization, which takes longer than it saves where a bench runs for milliseconds; the example circuits' own bench,
# tb, runs for seconds. Everything else is compiled as ever.
digest() { sha256sum 2>/dev/null || shasum -a 256; } # of the standard input
# The headers that every bench includes first, precompiled for the same options; nothing if the compiler cannot.
precompiled() {
    for word; do
        shift
        case $word in
            -c | -o | -MMD | *.o | *.cpp) ;;
            *) set -- "$@" "$word" ;;
        esac
    done
    key=$(printf '%s\n' "$@" | digest)
    header=$folder/headers.${key%% *}.h
    if [ ! -f "$header.gch" ]; then
        printf '#include "%s"\n' verilated.h verilated_timing.h >"$header.$$" && mv "$header.$$" "$header" || return
        "$@" -x c++-header -o "$header.$$" "$header" >&2 && mv "$header.$$" "$header.gch" || return
    fi
    echo "$header"
}
folder=$1
shift
for source; do :; done # the last argument
case $source in
    */include/verilated*.cpp) ours= other=-DVM_TRACE ;; # whether a bench is traced does not change the runtime
    V*__ALL.cpp) ours="./*.cpp ./*.h" other=none ;;
    *) exec "$@" ;;
esac
for word; do
    shift
    case $source,$word in
        Vtb__ALL.cpp,*) ;;
        *,-O[1-3s]) word=-O0 ;;
    esac
    set -- "$@" "$word"
done
# shellcheck disable=SC2086 # patterns
key=$({ printf '%s\n' "$@" | grep -v "^$other"; cat $ours /dev/null; } | digest)
object=$(basename "$source" .cpp).o
kept=$folder/$object.${key%% *}
if [ ! -f "$kept" ]; then
    header=${ours:+$(precompiled "$@")}
    "$@" ${header:+-include "$header"} || exit
    cp "$object" "$kept.$$" && mv "$kept.$$" "$kept" # whole or not at all: others may be at the same
    exit
fi
exec cp "$kept" "$object"
