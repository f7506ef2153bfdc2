/* SPDX-License-Identifier: 0BSD
 *
 * The DPI side of softfloat_ref_pkg: starts `softfloat-ref eval --serve` and passes lines to and from it through a
 * pair of pipes. It contains no numerics. The program is $SOFTFLOAT_REF, a path, or else softfloat-ref on PATH.
 *
 * C99 and C++ (some simulators compile every source as C++), POSIX. One thread at a time may call it.
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "svdpi.h"

enum {
    MAX_OPERANDS = 10, /* as in softfloat_ref_pkg.sv; the random bits of a stochastic rounding are one of them */
    WORDS = 4,         /* of 32 bits, in a code of up to 128 */
    MAX_LINE = 4096,
    LOOKS = 500
};

extern char **environ;

static struct {
    pid_t pid; /* 0: not started */
    int to, from;
} server;

static char answer[MAX_LINE + 1]; /* the last line read, without its newline */
static char message[MAX_LINE + 256];
static char **contexts; /* the lines that opened them; a context's number is its index here and in the server */
static int context_count;

static int fail(const char *what, const char *detail) {
    snprintf(message, sizeof message, "softfloat-ref: %s%s", what, detail);
    return -1;
}

/* ---------------------------------------------------------------- the process */

static const char *program(void) {
    const char *path = getenv("SOFTFLOAT_REF");
    return path && *path ? path : "softfloat-ref";
}

/* A pipe that no other child of the simulator inherits. */
static int make_pipe(int ends[2]) {
    if (pipe(ends) != 0) return -1;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return 0;
}

/* In a process group of its own, so that a Ctrl-C meant for the simulator does not end it; the end of its input does. */
static int spawn(int in, int out) {
    char name[] = "softfloat-ref", command[] = "eval", option[] = "--serve";
    char *argv[] = {name, command, option, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int failure;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    failure = posix_spawnp(&server.pid, program(), &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (failure) server.pid = 0;
    return failure;
}

static int start(void) {
    int in[2], out[2], failure;
    char detail[512];

    if (server.pid) return 0;
    if (make_pipe(in) != 0) return fail("no pipe to the server: ", strerror(errno));
    if (make_pipe(out) != 0) {
        close(in[0]);
        close(in[1]);
        return fail("no pipe from the server: ", strerror(errno));
    }
    failure = spawn(in[0], out[1]);
    close(in[0]);
    close(out[1]);
    server.to = in[1];
    server.from = out[0];
    if (!failure) return 0;
    close(server.to);
    close(server.from);
    snprintf(detail, sizeof detail, "%s (%s); pip install softfloat-ref, or set SOFTFLOAT_REF to its path", program(),
             strerror(failure));
    return fail("cannot start ", detail);
}

/* The server closed its end: report how it ended, and drop it and its contexts. */
static int died(void) {
    char detail[128];
    int status = 0;

    close(server.to);
    close(server.from);
    waitpid(server.pid, &status, 0);
    server.pid = 0;
    while (context_count > 0) free(contexts[--context_count]);
    if (WIFSIGNALED(status)) snprintf(detail, sizeof detail, " was killed by signal %d", WTERMSIG(status));
    else snprintf(detail, sizeof detail, " ended with exit code %d", WEXITSTATUS(status));
    snprintf(message, sizeof message, "softfloat-ref: the server (%.256s eval --serve)%s; its own message is above",
             program(), detail);
    return -1;
}

/* ---------------------------------------------------------------- one request, one answer */

/* A pipe without a reader must not end the simulator by a signal. */
static int write_all(const char *line, size_t length) {
    struct sigaction ignore, before;
    ssize_t written = 0;

    memset(&ignore, 0, sizeof ignore);
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &before);
    while (length > 0 && written >= 0) {
        written = write(server.to, line, length);
        if (written < 0 && errno == EINTR) written = 0;
        if (written > 0) {
            line += written;
            length -= (size_t)written;
        }
    }
    sigaction(SIGPIPE, &before, NULL);
    return length == 0 ? 0 : -1;
}

/* Looks for an answer for a moment before sleeping: waking up takes several times as long as an answer. */
static void look_for_answer(void) {
    struct pollfd from;
    int turn;

    from.fd = server.from;
    from.events = POLLIN;
    for (turn = 0; turn < LOOKS && poll(&from, 1, 0) == 0; turn++) sched_yield();
}

static int read_line(void) {
    size_t length = 0;

    while (length < MAX_LINE) {
        ssize_t count;

        look_for_answer();
        count = read(server.from, answer + length, MAX_LINE - length);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return -1;
        length += (size_t)count;
        if (answer[length - 1] == '\n') { /* exactly one line is under way */
            answer[length - 1] = '\0';
            return 0;
        }
    }
    answer[MAX_LINE] = '\0';
    return 0;
}

/* 0, and the answer in `answer`; -1, and the reason in `message`. */
static int ask(const char *line, size_t length) {
    if (write_all(line, length) != 0 || read_line() != 0) return died();
    if (strncmp(answer, "error ", 6) == 0) return fail("", answer + 6);
    return 0;
}

static int misunderstood(void) {
    char detail[128];

    snprintf(detail, sizeof detail, "%.40s answered '%.60s'", program(), answer);
    return fail("this program is not softfloat-ref eval --serve: ", detail);
}

/* ---------------------------------------------------------------- lines */

static char *put_hex(char *at, const svBitVecVal *code) {
    static const char digits[] = "0123456789abcdef";
    int word = WORDS - 1, shift = 28;

    while (word > 0 && code[word] == 0) word--;
    while (shift > 0 && code[word] >> shift == 0) shift -= 4;
    for (; word >= 0; word--, shift = 28)
        for (; shift >= 0; shift -= 4) *at++ = digits[code[word] >> shift & 15];
    return at;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The text after the digits; NULL if there are none, or too many. */
static const char *get_hex(const char *at, svBitVecVal *code, int words) {
    const char *begin = at;
    int i;

    memset(code, 0, sizeof(svBitVecVal) * (size_t)words);
    for (; hex_digit(*at) >= 0; at++) {
        if (code[words - 1] >> 28) return NULL;
        for (i = words - 1; i > 0; i--) code[i] = code[i] << 4 | code[i - 1] >> 28;
        code[0] = code[0] << 4 | (svBitVecVal)hex_digit(*at);
    }
    return at == begin ? NULL : at;
}

static int find_context(const char *line) {
    int i;

    for (i = 0; i < context_count; i++)
        if (strcmp(contexts[i], line) == 0) return i;
    return -1;
}

static int remember_context(const char *line) {
    char **more = (char **)realloc(contexts, sizeof(char *) * (size_t)(context_count + 1));

    if (more) contexts = more;
    if (!more || !(contexts[context_count] = (char *)malloc(strlen(line) + 1))) return fail("out of memory", "");
    strcpy(contexts[context_count], line);
    return context_count++;
}

/* ---------------------------------------------------------------- functions that the package imports */

#ifdef __cplusplus
extern "C" {
#endif

/* A context's number, or -1. The same request has the same context. */
int sf_dpi_open(const char *op, const char *fmt, const char *out, const char *options) {
    char line[MAX_LINE];
    const char *width;
    int length, context, number;

    length = snprintf(line, sizeof line, "open %s%s%s%s%s %s", op, *fmt ? " --fmt " : "", fmt, *out ? " --out " : "", out,
                      options);
    if (length < 0 || length + 1 >= MAX_LINE) return fail("sf_open: the request is too long", "");
    if (strpbrk(line, "\n\r")) return fail("sf_open: a name contains a line break", "");
    context = find_context(line);
    if (context >= 0) return context;
    if (start() != 0) return -1;
    line[length] = '\n';
    if (ask(line, (size_t)length + 1) != 0) return -1;
    line[length] = '\0';
    width = strstr(answer, " result=");
    if (sscanf(answer, "context %d ", &number) != 1 || number != context_count) return misunderstood();
    if (width && atoi(width + strlen(" result=")) > 32 * WORDS) {
        remember_context(""); /* the server has numbered it: keep the numbers in step */
        return fail("sf_open: the result has more than 128 bits", "");
    }
    return remember_context(line);
}

/* 0, the result and the flags; or -1. operands: `count` codes of 128 bits, the first one lowest. */
int sf_dpi_predict(int context, int count, const svBitVecVal *operands, svBitVecVal *result, int *flags) {
    char line[32 + MAX_OPERANDS * (8 * WORDS + 1)], *end = line;
    const char *rest;
    svBitVecVal raised;
    int i;

    if (context < 0 || context >= context_count) return fail("invalid handle; sf_open returns one", "");
    if (count < 0 || count > MAX_OPERANDS) return fail("too many operands", "");
    end += sprintf(end, "%d", context);
    for (i = 0; i < count; i++) {
        *end++ = ' ';
        end = put_hex(end, operands + WORDS * i);
    }
    *end++ = '\n';
    if (ask(line, (size_t)(end - line)) != 0) return -1;
    rest = get_hex(answer, result, WORDS);
    if (!rest) return misunderstood();
    raised = 0; /* a unit without flags raises none */
    if (*rest && (*rest != ' ' || !(rest = get_hex(rest + 1, &raised, 1)))) return misunderstood();
    if (*rest) return fail("the answer has several codes; use sf_predict_line", "");
    *flags = (int)raised;
    return 0;
}

/* 0, and the whole answer to a line of operands, for any unit; or -1. */
int sf_dpi_answer(int context, const char *operands, const char **codes) {
    char line[MAX_LINE];
    int length;

    *codes = "";
    if (context < 0 || context >= context_count) return fail("invalid handle; sf_open returns one", "");
    if (strpbrk(operands, "\n\r")) return fail("sf_predict_line: the operands contain a line break", "");
    length = snprintf(line, sizeof line, "%d %s\n", context, operands);
    if (length < 0 || length >= MAX_LINE) return fail("sf_predict_line: too many operands", "");
    if (ask(line, (size_t)length) != 0) return -1;
    *codes = answer;
    return 0;
}

/* Why the last call failed. */
const char *sf_dpi_message(void) { return message; }

#ifdef __cplusplus
}
#endif
