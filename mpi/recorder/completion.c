/* Waits and tests. The recorder looks up requests before the call, which may invalidate their handles. */

#include "record.h"

#include <stdlib.h>

/* MPI_Get_count knows no lengths beyond 2 GiB. */
MPI_Count rec_received(const MPI_Status *status) {
    MPI_Count bytes = 0;
    PMPI_Get_elements_x(status, MPI_BYTE, &bytes);
    return bytes > 0 ? bytes : 0;
}

void rec_put_status(const MPI_Status *status, const struct held *held, bool has_error) {
    const enum request_kind kind = held->kind;
    int cancelled = 0, bytes = 0, source = -1, tag = -1;
    if (kind != REQUEST_EMPTY && kind != REQUEST_HIDDEN) {
        PMPI_Test_cancelled(status, &cancelled);
        source = rec_peer(MPI_PROC_NULL);
    }
    /* MPI leaves the other fields of sends and of cancelled operations undefined. */
    if ((kind == REQUEST_RECEIVE || kind == REQUEST_BOTH) && !cancelled) {
        bytes = (int)rec_at_least(rec_received(status));
        source = rec_peer(status->MPI_SOURCE);
        tag = rec_tag(status->MPI_TAG);
    }
    /* MPICH 5.0 leaves the status of an earlier call there: then the bytes are unknown. */
    if (kind == REQUEST_BOTH && !cancelled &&
        ((held->source >= 0 && held->source != source) || (held->tag >= 0 && held->tag != tag))) {
        bytes = held->bytes;
        source = held->source;
        tag = held->tag;
    }
    if (kind == REQUEST_PARTITIONED && !cancelled) {
        bytes = held->bytes;
        source = held->source;
        tag = held->tag;
    }
    rec_put_i32(bytes);
    rec_put_i32(source);
    rec_put_u8(cancelled != 0);
    rec_put_u8(has_error ? (unsigned)status->MPI_ERROR & 0xff : 0);
    rec_put_i32(tag);
}

void rec_put_one_status(const MPI_Status *status) {
    rec_put_i32(1);
    const struct held receive = {.kind = REQUEST_RECEIVE};
    rec_put_status(status, &receive, false);
}

/* Lists besides the program's own: on the stack for few requests, otherwise on the heap. */
enum { FEW = 32 };
struct several {
    struct held few_held[FEW];
    MPI_Status few_statuses[FEW];
    struct held *held;
    MPI_Status *own; /* receives the statuses that the program ignores */
    MPI_Status *statuses;
};

/* False without memory, which few requests do not need: then the call passes unrecorded. */
static bool prepare(struct several *several, int count, MPI_Request requests[], MPI_Status *statuses) {
    size_t room = count > FEW ? (size_t)count : 0;
    bool is_ignored = statuses == MPI_STATUSES_IGNORE;
    several->held = room > 0 ? malloc(room * sizeof *several->held) : several->few_held;
    several->own = several->few_statuses;
    if (is_ignored && room > 0) {
        several->own = malloc(room * sizeof *several->own);
    }
    if (several->held == NULL || several->own == NULL) {
        return false;
    }
    several->statuses = is_ignored ? several->own : statuses;
    rec_lock();
    for (int k = 0; k < count; k++) {
        several->held[k] = rec_request(requests[k]);
    }
    rec_unlock();
    return true;
}

static void clean_up(struct several *several) {
    if (several->held != several->few_held) {
        free(several->held);
    }
    if (several->own != several->few_statuses) {
        free(several->own);
    }
}

/* Ends a call whose preparation failed. */
static int unrecorded(struct several *several, const struct call *call, int result) {
    rec_leave(call, false);
    clean_up(several);
    return result;
}

static void put_requests(const struct several *several, int count) {
    rec_put_i32(count);
    rec_put_i32(count);
    for (int k = 0; k < count; k++) {
        rec_put_i32(several->held[k].number);
    }
}

/* The status of request `at`, which stands at `position` of the statuses; the operation is complete. */
static void put_complete(const struct several *several, int at, int position, int result) {
    bool has_error = result == MPI_ERR_IN_STATUS;
    rec_put_status(&several->statuses[position], &several->held[at], has_error);
    rec_request_complete(&several->held[at]);
}

/* One request of `count` is complete, or none. */
static void put_any(const struct several *several, int count, int index, bool flag) {
    bool has_status = flag && index >= 0 && index < count;
    rec_put_i32(has_status);
    if (has_status) {
        put_complete(several, index, 0, MPI_SUCCESS);
    }
}

/* An error in a status means an operation that ended. Others of the list may not have ended, but the library then
 * reports that, and few programs go on. */
static bool has_ended(int result) {
    int class = MPI_SUCCESS;
    return result == MPI_SUCCESS || result == MPI_ERR_IN_STATUS
        || (PMPI_Error_class(result, &class) == MPI_SUCCESS && class == MPI_ERR_TRUNCATE);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    struct several several;
    struct call call = rec_enter(13);
    prepare(&several, 1, request, status == MPI_STATUS_IGNORE ? MPI_STATUSES_IGNORE : status);
    int result = PMPI_Wait(request, several.statuses);
    if (rec_leave(&call, has_ended(result))) {
        rec_put_i32(several.held[0].number);
        rec_put_i32(1);
        put_complete(&several, 0, 0, result);
        rec_end();
    }
    clean_up(&several);
    return result;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    struct several several;
    struct call call = rec_enter(14);
    prepare(&several, 1, request, status == MPI_STATUS_IGNORE ? MPI_STATUSES_IGNORE : status);
    int result = PMPI_Test(request, flag, several.statuses);
    if (rec_leave(&call, has_ended(result) && (*flag || rec_wants_polls()))) {
        rec_put_i32(several.held[0].number);
        rec_put_i32(*flag);
        rec_put_i32(*flag != 0);
        if (*flag) {
            put_complete(&several, 0, 0, result);
        }
        rec_end();
    }
    clean_up(&several);
    return result;
}

int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status) {
    struct several several;
    struct call call = rec_enter(216);
    prepare(&several, 1, &request, status == MPI_STATUS_IGNORE ? MPI_STATUSES_IGNORE : status);
    int result = PMPI_Request_get_status(request, flag, several.statuses);
    if (rec_leave(&call, result == MPI_SUCCESS && (*flag || rec_wants_polls()))) {
        rec_put_i32(several.held[0].number);
        rec_put_i32(*flag);
        rec_put_i32(*flag != 0);
        if (*flag) {
            /* The request stays as it is until a wait or test. */
            rec_put_status(several.statuses, &several.held[0], false);
        }
        rec_end();
    }
    clean_up(&several);
    return result;
}

int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status) {
    struct several several;
    struct call call = rec_enter(16);
    if (!prepare(&several, count, requests, status == MPI_STATUS_IGNORE ? MPI_STATUSES_IGNORE : status)) {
        return unrecorded(&several, &call, PMPI_Waitany(count, requests, index, status));
    }
    int result = PMPI_Waitany(count, requests, index, several.statuses);
    if (rec_leave(&call, has_ended(result))) {
        put_requests(&several, count);
        rec_put_i32(*index);
        put_any(&several, count, *index, true);
        rec_end();
    }
    clean_up(&several);
    return result;
}

int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status) {
    struct several several;
    struct call call = rec_enter(17);
    if (!prepare(&several, count, requests, status == MPI_STATUS_IGNORE ? MPI_STATUSES_IGNORE : status)) {
        return unrecorded(&several, &call, PMPI_Testany(count, requests, index, flag, status));
    }
    int result = PMPI_Testany(count, requests, index, flag, several.statuses);
    if (rec_leave(&call, has_ended(result) && (*flag || rec_wants_polls()))) {
        put_requests(&several, count);
        rec_put_i32(*index);
        rec_put_i32(*flag);
        put_any(&several, count, *index, *flag);
        rec_end();
    }
    clean_up(&several);
    return result;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    struct several several;
    struct call call = rec_enter(18);
    if (!prepare(&several, count, requests, statuses)) {
        return unrecorded(&several, &call, PMPI_Waitall(count, requests, statuses));
    }
    int result = PMPI_Waitall(count, requests, several.statuses);
    if (rec_leave(&call, has_ended(result))) {
        put_requests(&several, count);
        rec_put_i32(count);
        for (int k = 0; k < count; k++) {
            put_complete(&several, k, k, result);
        }
        rec_end();
    }
    clean_up(&several);
    return result;
}

int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[]) {
    struct several several;
    struct call call = rec_enter(19);
    if (!prepare(&several, count, requests, statuses)) {
        return unrecorded(&several, &call, PMPI_Testall(count, requests, flag, statuses));
    }
    int result = PMPI_Testall(count, requests, flag, several.statuses);
    if (rec_leave(&call, has_ended(result) && (*flag || rec_wants_polls()))) {
        put_requests(&several, count);
        rec_put_i32(*flag);
        rec_put_i32(*flag ? count : 0);
        for (int k = 0; *flag && k < count; k++) {
            put_complete(&several, k, k, result);
        }
        rec_end();
    }
    clean_up(&several);
    return result;
}

static void put_some(const struct several *several, int count, int outcount, const int indices[], int result) {
    put_requests(several, count);
    rec_put_i32(outcount);
    rec_put_i32s(indices, outcount);
    rec_put_i32(outcount > 0 ? outcount : 0);
    for (int k = 0; k < outcount; k++) {
        put_complete(several, indices[k], k, result);
    }
}

int MPI_Waitsome(int count, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[]) {
    struct several several;
    struct call call = rec_enter(20);
    if (!prepare(&several, count, requests, statuses)) {
        return unrecorded(&several, &call, PMPI_Waitsome(count, requests, outcount, indices, statuses));
    }
    int result = PMPI_Waitsome(count, requests, outcount, indices, several.statuses);
    if (rec_leave(&call, has_ended(result))) {
        put_some(&several, count, *outcount, indices, result);
        rec_end();
    }
    clean_up(&several);
    return result;
}

int MPI_Testsome(int count, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[]) {
    struct several several;
    struct call call = rec_enter(21);
    if (!prepare(&several, count, requests, statuses)) {
        return unrecorded(&several, &call, PMPI_Testsome(count, requests, outcount, indices, statuses));
    }
    int result = PMPI_Testsome(count, requests, outcount, indices, several.statuses);
    if (rec_leave(&call, has_ended(result) && (*outcount > 0 || rec_wants_polls()))) {
        put_some(&several, count, *outcount, indices, result);
        rec_end();
    }
    clean_up(&several);
    return result;
}
