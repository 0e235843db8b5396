/* What is not in the trace, or only in part: one line for each kind, on stderr and as `note=` in the description of the
 * run, which every command prints that opens the trace. */

#define _GNU_SOURCE
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const names[] = {
#define UNNUMBERED(at, result, name, parameters, arguments) #name,
#include "generated.h"
#undef UNNUMBERED
    NULL,
};
enum { UNNUMBERED_FUNCTIONS = sizeof names / sizeof *names - 1, ALL = UNNUMBERED_FUNCTIONS + NOTES };
/* On stderr; the description of the run has all. */
enum { NAMES_SHOWN = 8 };

static unsigned long long counts[ALL];

/* ordering: statistics. */
void rec_note(enum note note) { __atomic_fetch_add(&counts[UNNUMBERED_FUNCTIONS + note], 1, __ATOMIC_RELAXED); }
void rec_note_unnumbered(int at) { __atomic_fetch_add(&counts[at], 1, __ATOMIC_RELAXED); }

void rec_note_numbered(int number) {
    switch (number) {
    case 141: /* MPI_Accumulate */
    case 142: /* MPI_Get */
    case 143: /* MPI_Put */
        rec_note(NOTE_ONE_SIDED);
        break;
    case 130: /* MPI_Comm_accept */
    case 131: /* MPI_Comm_connect */
    case 133: /* MPI_Comm_get_parent */
    case 134: /* MPI_Comm_join */
    case 135: /* MPI_Comm_spawn */
    case 136: /* MPI_Comm_spawn_multiple */
        rec_note(NOTE_PROCESSES);
        break;
    default:
        break;
    }
}

static int by_count(const void *a, const void *b, void *sums_) {
    const unsigned long long *sums = sums_;
    const int x = *(const int *)a, y = *(const int *)b;
    return sums[x] != sums[y] ? (sums[x] < sums[y] ? 1 : -1) : x - y;
}

/* The line about functions that the format has no number for; all names, or the most frequent ones. */
static void put_functions(FILE *out, const char *before, const char *whose, unsigned long long *sums, int shown) {
    int order[UNNUMBERED_FUNCTIONS + 1];
    int functions = 0;
    unsigned long long calls = 0;
    for (int k = 0; k < UNNUMBERED_FUNCTIONS; k++) {
        if (sums[k] > 0) {
            order[functions++] = k;
            calls += sums[k];
        }
    }
    if (functions == 0) {
        return;
    }
    qsort_r(order, (size_t)functions, sizeof *order, by_count, sums);
    fprintf(out, "%s%s%llu call%s of %d function%s %s not recorded:", before, whose, calls, calls == 1 ? "" : "s",
            functions, functions == 1 ? "" : "s", calls == 1 ? "was" : "were");
    for (int k = 0; k < functions && k < shown; k++) {
        fprintf(out, "%s %s %llu", k == 0 ? "" : ",", names[order[k]], sums[order[k]]);
    }
    if (functions > shown) {
        fprintf(out, ", and %d more", functions - shown);
    }
    fputs("\n", out);
}

static void put_notes(FILE *out, const char *before, const char *whose, unsigned long long *sums, int shown) {
    const unsigned long long *notes = sums + UNNUMBERED_FUNCTIONS;
    put_functions(out, before, whose, sums, shown);
    if (notes[NOTE_AT_LEAST] > 0) {
        fprintf(out, "%s%slengths or counts beyond the format's 31 bits: %llu; the true ones are at least what the trace has\n",
                before, whose, notes[NOTE_AT_LEAST]);
    }
    if (notes[NOTE_PARTITIONED] > 0) {
        fprintf(out, "%s%spartitioned requests recorded as persistent ones: %llu; a match at each start is a guess\n",
                before, whose, notes[NOTE_PARTITIONED]);
    }
    if (notes[NOTE_SESSIONS] > 0) {
        fprintf(out, "%s%sthe program used sessions: its first communicator of all processes is MPI_COMM_WORLD here\n",
                before, whose);
    }
    if (notes[NOTE_FROM_GROUP] > 0) {
        fprintf(out, "%s%scommunicators of MPI_Comm_create_from_group without an origin in the trace: %llu\n", before, whose,
                notes[NOTE_FROM_GROUP]);
    }
    if (notes[NOTE_ONE_SIDED] > 0) {
        fprintf(out, "%s%scalls of MPI_Put, MPI_Get and MPI_Accumulate, of which the trace has only the number: %llu\n", before,
                whose, notes[NOTE_ONE_SIDED]);
    }
    if (notes[NOTE_PROCESSES] > 0) {
        fprintf(out, "%s%scalls that connect to other processes, whose communicators have no origin in the trace: %llu\n",
                before, whose, notes[NOTE_PROCESSES]);
    }
}

/* Writes lines to the end of the description of the run. */
static FILE *open_meta(const char *meta) {
    int file = open(meta, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
    return file < 0 ? NULL : fdopen(file, "a");
}

static void close_meta(FILE *out, const char *meta) {
    if (out == NULL || fclose(out) != 0) {
        fprintf(stderr, "dpamatch-record: %s: %s; it lacks the notes\n", meta, strerror(errno));
    }
}

void rec_note_late(const char *meta, int rank, unsigned long long calls) {
    static const char form[] = "%srank %d: calls after the end of the recording, as in a session that was opened again: %llu\n";
    struct rec_quiet quiet;
    fprintf(stderr, form, "dpamatch-record: ", rank, calls);
    rec_quiet_begin(&quiet);
    FILE *out = open_meta(meta);
    if (out != NULL) {
        fprintf(out, form, "note=", rank, calls);
    }
    close_meta(out, meta);
    rec_quiet_end(&quiet);
}

void rec_notes_end(const char *meta, int rank, bool is_collective) {
    unsigned long long sums[ALL];
    char whose[32] = "";
    memcpy(sums, counts, sizeof sums);
    if (is_collective) {
        PMPI_Reduce(counts, sums, ALL, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank != 0) {
            return;
        }
    } else {
        snprintf(whose, sizeof whose, "rank %d: ", rank);
    }
    put_notes(stderr, "dpamatch-record: ", whose, sums, NAMES_SHOWN);
    struct rec_quiet quiet;
    rec_quiet_begin(&quiet);
    FILE *out = open_meta(meta);
    if (out != NULL) {
        put_notes(out, "note=", whose, sums, UNNUMBERED_FUNCTIONS);
    }
    close_meta(out, meta);
    rec_quiet_end(&quiet);
}
