/* Declarations that the recorder's files share.
 *
 * The recorder stands between a program and its MPI library (MPI 4.0, section 15.2: every MPI function has a second
 * name with a P in front). Each wrapper calls the library, then writes one record of the DUMPI binary format,
 * version 13.
 *
 *   real.c      the library's own functions, by their P names
 *   output.c    bytes into a file, through one buffer of fixed size
 *   session.c   one rank's file: begin, records, end; the lock; times; threads
 *   sites.c     where in the program a call is, if that is asked for
 *   handles.c   numbers for communicators, groups, datatypes, operations
 *   requests.c  numbers for requests that are active
 *   amount.c    counts and lengths beyond 32 bits
 *   notes.c     what is not in the trace: for stderr and the description of the run
 *   p2p.c, completion.c, collective.c, communicator.c, lifetime.c, counted.c     the wrappers
 */
#ifndef DPAMATCH_RECORD_H
#define DPAMATCH_RECORD_H

#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

/* HAVE_MPI_X for each function that the library's mpi.h declares; made by the build. */
#include "have.h"

/* Here a P name is the library's function, found at run time: the recorder also defines the P names, because Open
 * MPI's Fortran interface calls them. The first of the build's two links omits these definitions, to learn which names
 * exist; see the Makefile. */
#ifdef REAL_NAMES
#include "real.h"
#endif

/* Functions that the format numbers. */
enum { FUNCTIONS = 290 };

/* ---- output.c: big-endian values; nothing may be written without the lock ---- */

bool rec_output_open(const char *path);
uint64_t rec_output_offset(void);
/* Between these two a file that becomes too large is an error of the write, not a signal that ends the program. */
struct rec_quiet { sigset_t before; bool was_pending; };
void rec_quiet_begin(struct rec_quiet *quiet);
void rec_quiet_end(const struct rec_quiet *quiet);
/* Writes the buffer and closes; false if any write failed. */
bool rec_output_close(void);
void rec_put_u8(unsigned value);
void rec_put_u16(unsigned value);
void rec_put_i32(int64_t value);
void rec_put_u64(uint64_t value);
void rec_put_bytes(const void *bytes, size_t count);
/* A count, then that many numbers; no numbers if `values` is null. */
void rec_put_i32s(const int *values, int count);
/* A text in a record: 32 bits of length. */
void rec_put_text(const char *text);

/* ---- session.c ---- */

/* A call in progress. */
struct call {
    int function;
    struct timespec entered;
    /* Its return address. */
    void *site;
};

/* Records the time and the caller. Use it only directly in the function that the program calls. */
#define rec_enter(function) rec_enter_from(function, __builtin_return_address(0))
struct call rec_enter_from(int function, void *site);
/* After the call: counts it. True if a record is to be written. Then the lock is held, the record's head is written, and the
 * arguments and rec_end() must follow. `wanted` false: the call is only counted. */
bool rec_leave(const struct call *call, bool wanted);
/* Begins one more record of the same call, as another function; the lock is held. */
void rec_next(struct call *call, int function);
/* After a call of a function that the format has no number for, which is number `at` of generated.h. */
void rec_leave_unnumbered(const struct call *call, int at);
/* Passes a call whose record another call has. */
void rec_leave_known(void);
void rec_end(void);
void rec_lock(void);
void rec_unlock(void);
/* Opens the file of this rank: after the library's own start, within `start`. Collective over MPI_COMM_WORLD. */
void rec_begin_session(const struct call *start);
/* Like it, after MPI_Comm_create_from_group in a program that has not called MPI_Init. Collective over `comm`. */
void rec_begin_session_without_world(const struct call *start, MPI_Comm comm, int rank, int ranks);
/* Sections behind the calls. Nothing is recorded afterwards. `is_collective`: every rank calls it, as in MPI_Finalize. */
void rec_end_session(bool is_collective);
bool rec_has_begun(void);

/* ---- real.c ---- */

/* Finds the MPI library's functions at the first call. It ends the program if there is none, or if it is another
 * library than the recorder was built for. */
void rec_find_library(void);
/* The file of a loaded MPI library; null if there is none. */
const char *rec_loaded_library(void);

/* ---- notes.c ---- */

enum note { NOTE_AT_LEAST, NOTE_PARTITIONED, NOTE_SESSIONS, NOTE_FROM_GROUP, NOTE_ONE_SIDED, NOTE_PROCESSES, NOTES };
void rec_note(enum note note);
/* Notes a call that has a number in the format and no record, if it moves data or makes a communicator. */
void rec_note_numbered(int number);
void rec_note_unnumbered(int at);
/* Adds up all ranks, if it is collective, and writes what is not in the trace to stderr and to the end of `meta`. */
void rec_notes_end(const char *meta, int rank, bool is_collective);
/* Writes there that so many calls came after the end of the recording. */
void rec_note_late(const char *meta, int rank, unsigned long long calls);

/* ---- amount.c ---- */

/* Count and datatype, which are adjacent in a record. A count beyond 31 bits becomes a smaller count of a larger type. */
void rec_put_amount(MPI_Count count, MPI_Datatype datatype);
/* The value, or the largest that 31 bits can hold, which is noted. */
int64_t rec_at_least(MPI_Count value);
/* The product, or the largest number. */
MPI_Count rec_times(MPI_Count a, MPI_Count b);
/* The bytes of a received or probed message. */
MPI_Count rec_received(const MPI_Status *status);
/* Whether polls that found nothing are written (DPAMATCH_RECORD_POLLS). */
bool rec_wants_polls(void);

/* ---- sites.c: all with the lock held ---- */

/* Opens the file of call sites beside the rank's file, if they are asked for (DPAMATCH_RECORD_SITES). */
void rec_sites_open(const char *rank_file);
/* Notes that record number `record` of the file is a call of this function that returns to `site`. */
void rec_sites_put(uint64_t record, int function, void *site);
void rec_sites_close(void);

/* ---- handles.c: all with the lock held ---- */

/* A handle as a key: a pointer in one library, a number in another. */
#define REC_KEY(handle) rec_key(&(handle), sizeof(handle))
static inline uint64_t rec_key(const void *handle, size_t size) {
    uint64_t key = 0;
    memcpy(&key, handle, size);
    return key;
}

void rec_handles_begin(void);
unsigned rec_comm(MPI_Comm comm);
unsigned rec_group(MPI_Group group);
unsigned rec_datatype(MPI_Datatype datatype);
/* A type that no program has, of this size in bytes. */
unsigned rec_datatype_of_size(int32_t size);
/* A second handle of MPI_COMM_WORLD's processes, in a program that has not called MPI_Init. */
void rec_comm_is_world(MPI_Comm comm);
unsigned rec_op(MPI_Op op);
/* Forgets a handle that is about to become invalid; another object may get it. */
void rec_forget_comm(MPI_Comm comm);
void rec_forget_group(MPI_Group group);
void rec_forget_datatype(MPI_Datatype datatype);
/* The section of datatype sizes. */
void rec_put_datatype_sizes(void);

static inline void rec_put_comm(MPI_Comm comm) { rec_put_u16(rec_comm(comm)); }
static inline void rec_put_group(MPI_Group group) { rec_put_u16(rec_group(group)); }
static inline void rec_put_datatype(MPI_Datatype datatype) { rec_put_u16(rec_datatype(datatype)); }

/* Each library has its own values for wildcards. In a file MPI_ANY_SOURCE is always -1 and MPI_PROC_NULL -2. */
static inline int rec_peer(int rank) {
    return rank == MPI_ANY_SOURCE ? -1 : rank == MPI_PROC_NULL ? -2 : rank;
}
static inline int rec_tag(int tag) { return tag == MPI_ANY_TAG ? -1 : tag; }

/* ---- requests.c: all with the lock held ---- */

enum request_kind {
    REQUEST_EMPTY,   /* MPI_REQUEST_NULL */
    REQUEST_RECEIVE, /* its status says what was received */
    REQUEST_PARTITIONED, /* a receive whose message the request itself describes */
    REQUEST_BOTH,    /* a receive of MPI_Isendrecv */
    REQUEST_HIDDEN,  /* its operation has a record already: a null request in the trace */
    REQUEST_OTHER,   /* sends, receives from MPI_PROC_NULL, calls that the format does not have */
};

/* A request's state before a call that may complete it and so invalidate the handle. */
struct held {
    uint64_t key;
    int32_t number;
    bool persistent;
    enum request_kind kind;
    /* Of a partitioned receive. */
    int32_t source, tag, bytes;
};

/* A new operation or persistent request; its number. */
int32_t rec_request_new(MPI_Request request, enum request_kind kind, bool persistent);
struct held rec_request(MPI_Request request);
/* A number for an operation without a handle, and its return. */
int32_t rec_request_take(void);
void rec_request_give(int32_t number);
/* What the status of a partitioned receive will be. */
void rec_request_describe(MPI_Request request, int source, int tag, int64_t bytes);
/* A request that the trace shows as null. */
void rec_request_hide(MPI_Request request);
/* An operation is complete; a persistent request stays. */
void rec_request_complete(const struct held *held);
/* After MPI_Request_free. */
void rec_request_freed(const struct held *held);

/* ---- completion.c ---- */

/* One status; the request says which of its fields are valid. */
void rec_put_status(const MPI_Status *status, const struct held *held, bool has_error);
/* A list of one, for a call that receives or probes. */
void rec_put_one_status(const MPI_Status *status);

#endif
