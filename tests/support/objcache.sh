#!/bin/sh
# objcache.sh FOLDER COMPILER ARGUMENT...: the command that Verilator's makefiles put before the compiler's ($OBJCACHE).
# Objects are kept in FOLDER, by command and content. Verilator's runtime is the same in every bench and takes most of
# the time to build one; a circuit is built by several tests. Everything else is compiled as ever.
digest() { sha256sum 2>/dev/null || shasum -a 256; } # of the standard input
folder=$1
shift
for source; do :; done # the last argument
case $source in
    */include/verilated*.cpp) key=$(printf '%s\n' "$@" | digest) ;;
    V*__ALL.cpp) key=$({ printf '%s\n' "$@"; cat ./*.cpp ./*.h; } | digest) ;;
    *) exec "$@" ;;
esac
object=$(basename "$source" .cpp).o
kept=$folder/$object.${key%% *}
if [ ! -f "$kept" ]; then
    "$@" || exit
    cp "$object" "$kept.$$" && mv "$kept.$$" "$kept" # whole or not at all: others may be at the same
    exit
fi
exec cp "$kept" "$object"
