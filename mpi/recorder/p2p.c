/* Sends, receives, probes, and requests that are started, cancelled or freed. */

#include "record.h"

/* A failed receive, for example of a message that was too long, has still taken its message. */
#define TOOK_MESSAGE(result) ((result) == MPI_SUCCESS || is_truncation(result))
static bool is_truncation(int result) {
    int class = MPI_SUCCESS;
    return PMPI_Error_class(result, &class) == MPI_SUCCESS && class == MPI_ERR_TRUNCATE;
}

/* The first arguments of every send and receive: count, datatype, peer, tag, communicator. */
static void put_envelope(MPI_Count count, MPI_Datatype datatype, int peer, int tag, MPI_Comm comm) {
    rec_put_amount(count, datatype);
    rec_put_i32(rec_peer(peer));
    rec_put_i32(rec_tag(tag));
    rec_put_comm(comm);
}

#ifdef HAVE_MPI_Isendrecv
/* What readers take for an unknown length: MPI_UNDEFINED in both libraries. */
enum { UNKNOWN_BYTES = -32766 };

static void put_both(struct call *call, int result, MPI_Count send_count, MPI_Datatype send_type, int dest,
                     int send_tag, MPI_Count receive_count, MPI_Datatype receive_type, int source, int receive_tag,
                     MPI_Comm comm, const MPI_Request *request) {
    if (rec_leave(call, result == MPI_SUCCESS)) {
        enum request_kind kind = source == MPI_PROC_NULL ? REQUEST_OTHER : REQUEST_BOTH;
        put_envelope(receive_count, receive_type, source, receive_tag, comm);
        rec_put_i32(rec_request_new(*request, kind, false));
        rec_request_describe(*request, rec_peer(source), rec_tag(receive_tag), UNKNOWN_BYTES);
        int32_t number = rec_request_take();
        rec_next(call, 8);
        put_envelope(send_count, send_type, dest, send_tag, comm);
        rec_put_i32(number);
        rec_next(call, 15);
        rec_put_i32(number);
        rec_request_give(number);
        rec_end();
    }
}
#endif

#define NAME(name) name
#define COUNT int
#include "p2p_counts.h"
#undef NAME
#undef COUNT

#ifdef HAVE_MPI_Send_c
#define NAME(name) name##_c
#define COUNT MPI_Count
#include "p2p_counts.h"
#endif

/* Partitioned communication. The format has none: the record is a persistent send or receive of all partitions, which
 * each start posts. MPI matches the two sides once, at their first start, and only with each other; the trace has
 * a match per start. MPI_Pready and MPI_Parrived have no record: they are counted. */
#ifdef HAVE_MPI_Psend_init
int MPI_Psend_init(const void *buffer, int partitions, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                   MPI_Comm comm, MPI_Info info, MPI_Request *request) {
    struct call call = rec_enter(26);
    int result = PMPI_Psend_init(buffer, partitions, count, datatype, dest, tag, comm, info, request);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        rec_note(NOTE_PARTITIONED);
        put_envelope(rec_times(partitions, count), datatype, dest, tag, comm);
        rec_put_i32(rec_request_new(*request, REQUEST_OTHER, true));
        rec_end();
    }
    return result;
}

int MPI_Precv_init(void *buffer, int partitions, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                   MPI_Comm comm, MPI_Info info, MPI_Request *request) {
    struct call call = rec_enter(30);
    int result = PMPI_Precv_init(buffer, partitions, count, datatype, source, tag, comm, info, request);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        rec_note(NOTE_PARTITIONED);
        MPI_Count size = 0;
        PMPI_Type_size_x(datatype, &size);
        enum request_kind kind = source == MPI_PROC_NULL ? REQUEST_OTHER : REQUEST_PARTITIONED;
        put_envelope(rec_times(partitions, count), datatype, source, tag, comm);
        rec_put_i32(rec_request_new(*request, kind, true));
        /* Neither source nor tag may be a wildcard. */
        rec_request_describe(*request, source, tag, rec_at_least(rec_times(rec_times(partitions, count), size)));
        rec_end();
    }
    return result;
}
#endif

int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status) {
    MPI_Status own;
    struct call call = rec_enter(23);
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int result = PMPI_Probe(source, tag, comm, status);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        rec_put_i32(rec_peer(source));
        rec_put_i32(rec_tag(tag));
        rec_put_comm(comm);
        rec_put_one_status(status);
        rec_end();
    }
    return result;
}

static void put_iprobe(int source, int tag, MPI_Comm comm, int flag, const MPI_Status *status) {
    rec_put_i32(rec_peer(source));
    rec_put_i32(rec_tag(tag));
    rec_put_comm(comm);
    rec_put_i32(flag);
    if (flag) {
        rec_put_one_status(status);
    } else {
        rec_put_i32(0);
    }
}

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status) {
    MPI_Status own;
    struct call call = rec_enter(22);
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int result = PMPI_Iprobe(source, tag, comm, flag, status);
    if (rec_leave(&call, result == MPI_SUCCESS && (*flag || rec_wants_polls()))) {
        put_iprobe(source, tag, comm, *flag, status);
        rec_end();
    }
    return result;
}

/* The format has no matched probes. To matching, one that finds a message is a receive: from then on no other receive
 * can get that message. It is written as an MPI_Recv of what was found, into room of the same size; the MPI_Mrecv or
 * MPI_Imrecv that fetches the contents later matches nothing and is not written. */
static void put_matched(int source, int tag, MPI_Comm comm, const MPI_Status *status) {
    put_envelope(rec_received(status), MPI_BYTE, source, tag, comm);
    rec_put_one_status(status);
}

int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status) {
    MPI_Status own;
    struct call call = rec_enter(1);
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int result = PMPI_Mprobe(source, tag, comm, message, status);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        put_matched(source, tag, comm, status);
        rec_end();
    }
    return result;
}

int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status) {
    MPI_Status own;
    struct call call = rec_enter(22);
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int result = PMPI_Improbe(source, tag, comm, flag, message, status);
    bool found = result == MPI_SUCCESS && *flag;
    call.function = found ? 1 : 22;
    if (rec_leave(&call, result == MPI_SUCCESS && (found || rec_wants_polls()))) {
        if (found) {
            put_matched(source, tag, comm, status);
        } else {
            put_iprobe(source, tag, comm, false, status);
        }
        rec_end();
    }
    return result;
}

/* The probe has the record. */
int MPI_Mrecv(void *buffer, int count, MPI_Datatype datatype, MPI_Message *message, MPI_Status *status) {
    rec_enter(0);
    int result = PMPI_Mrecv(buffer, count, datatype, message, status);
    rec_leave_known();
    return result;
}

static int fetched(MPI_Request request, int result) {
    if (result == MPI_SUCCESS) {
        rec_lock();
        rec_request_hide(request);
        rec_unlock();
    }
    rec_leave_known();
    return result;
}

int MPI_Imrecv(void *buffer, int count, MPI_Datatype datatype, MPI_Message *message, MPI_Request *request) {
    rec_enter(0);
    int result = PMPI_Imrecv(buffer, count, datatype, message, request);
    return fetched(*request, result);
}

#ifdef HAVE_MPI_Mrecv_c
int MPI_Mrecv_c(void *buffer, MPI_Count count, MPI_Datatype datatype, MPI_Message *message, MPI_Status *status) {
    rec_enter(0);
    int result = PMPI_Mrecv_c(buffer, count, datatype, message, status);
    rec_leave_known();
    return result;
}

int MPI_Imrecv_c(void *buffer, MPI_Count count, MPI_Datatype datatype, MPI_Message *message, MPI_Request *request) {
    rec_enter(0);
    int result = PMPI_Imrecv_c(buffer, count, datatype, message, request);
    return fetched(*request, result);
}
#endif

int MPI_Start(MPI_Request *request) {
    struct call call = rec_enter(31);
    int result = PMPI_Start(request);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        rec_put_i32(rec_request(*request).number);
        rec_end();
    }
    return result;
}

int MPI_Startall(int count, MPI_Request requests[]) {
    struct call call = rec_enter(32);
    int result = PMPI_Startall(count, requests);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        rec_put_i32(count);
        rec_put_i32(count);
        for (int k = 0; k < count; k++) {
            rec_put_i32(rec_request(requests[k]).number);
        }
        rec_end();
    }
    return result;
}

int MPI_Cancel(MPI_Request *request) {
    struct call call = rec_enter(24);
    int result = PMPI_Cancel(request);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        rec_put_i32(rec_request(*request).number);
        rec_end();
    }
    return result;
}

int MPI_Request_free(MPI_Request *request) {
    struct call call = rec_enter(15);
    rec_lock();
    struct held held = rec_request(*request);
    rec_unlock();
    int result = PMPI_Request_free(request);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        rec_put_i32(held.number);
        rec_request_freed(&held);
        rec_end();
    }
    return result;
}
