/* Sends, receives, probes, and requests that are started, cancelled or freed. */

#include "record.h"

/* A failed receive, for example of a message that was too long, has still taken its message. */
#define TOOK_MESSAGE(result) ((result) == MPI_SUCCESS || is_truncation(result))
static bool is_truncation(int result) {
    int class = MPI_SUCCESS;
    return PMPI_Error_class(result, &class) == MPI_SUCCESS && class == MPI_ERR_TRUNCATE;
}

/* The first arguments of every send and receive: count, datatype, peer, tag, communicator. */
static void put_envelope(int count, MPI_Datatype datatype, int peer, int tag, MPI_Comm comm) {
    rec_put_i32(count);
    rec_put_datatype(datatype);
    rec_put_i32(rec_peer(peer));
    rec_put_i32(rec_tag(tag));
    rec_put_comm(comm);
}

#define SEND(number, name)                                                                                       \
    int MPI_##name(const void *buffer, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {     \
        struct call call = rec_enter(number);                                                                    \
        int result = PMPI_##name(buffer, count, datatype, dest, tag, comm);                                      \
        if (rec_leave(&call, result == MPI_SUCCESS)) {                                                           \
            put_envelope(count, datatype, dest, tag, comm);                                                      \
            rec_end();                                                                                           \
        }                                                                                                        \
        return result;                                                                                           \
    }

SEND(0, Send)
SEND(3, Bsend)
SEND(4, Ssend)
SEND(5, Rsend)

/* Nonblocking and persistent sends, which differ in the kind of their request. */
#define SEND_WITH_REQUEST(number, name, persistent)                                                              \
    int MPI_##name(const void *buffer, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,       \
                   MPI_Request *request) {                                                                       \
        struct call call = rec_enter(number);                                                                    \
        int result = PMPI_##name(buffer, count, datatype, dest, tag, comm, request);                             \
        if (rec_leave(&call, result == MPI_SUCCESS)) {                                                           \
            put_envelope(count, datatype, dest, tag, comm);                                                      \
            rec_put_i32(rec_request_new(*request, REQUEST_OTHER, persistent));                                   \
            rec_end();                                                                                           \
        }                                                                                                        \
        return result;                                                                                           \
    }

SEND_WITH_REQUEST(8, Isend, false)
SEND_WITH_REQUEST(9, Ibsend, false)
SEND_WITH_REQUEST(10, Issend, false)
SEND_WITH_REQUEST(11, Irsend, false)
SEND_WITH_REQUEST(26, Send_init, true)
SEND_WITH_REQUEST(27, Bsend_init, true)
SEND_WITH_REQUEST(28, Ssend_init, true)
SEND_WITH_REQUEST(29, Rsend_init, true)

#define RECEIVE_WITH_REQUEST(number, name, persistent)                                                           \
    int MPI_##name(void *buffer, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,           \
                   MPI_Request *request) {                                                                       \
        struct call call = rec_enter(number);                                                                    \
        int result = PMPI_##name(buffer, count, datatype, source, tag, comm, request);                           \
        if (rec_leave(&call, result == MPI_SUCCESS)) {                                                           \
            enum request_kind kind = source == MPI_PROC_NULL ? REQUEST_OTHER : REQUEST_RECEIVE;                  \
            put_envelope(count, datatype, source, tag, comm);                                                    \
            rec_put_i32(rec_request_new(*request, kind, persistent));                                            \
            rec_end();                                                                                           \
        }                                                                                                        \
        return result;                                                                                           \
    }

RECEIVE_WITH_REQUEST(12, Irecv, false)
RECEIVE_WITH_REQUEST(30, Recv_init, true)

int MPI_Recv(void *buffer, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
             MPI_Status *status) {
    MPI_Status own;
    struct call call = rec_enter(1);
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int result = PMPI_Recv(buffer, count, datatype, source, tag, comm, status);
    if (rec_leave(&call, TOOK_MESSAGE(result))) {
        put_envelope(count, datatype, source, tag, comm);
        rec_put_one_status(status);
        rec_end();
    }
    return result;
}

int MPI_Sendrecv(const void *send_buffer, int send_count, MPI_Datatype send_type, int dest, int send_tag,
                 void *receive_buffer, int receive_count, MPI_Datatype receive_type, int source, int receive_tag,
                 MPI_Comm comm, MPI_Status *status) {
    MPI_Status own;
    struct call call = rec_enter(33);
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int result = PMPI_Sendrecv(send_buffer, send_count, send_type, dest, send_tag, receive_buffer, receive_count,
                               receive_type, source, receive_tag, comm, status);
    if (rec_leave(&call, TOOK_MESSAGE(result))) {
        rec_put_i32(send_count);
        rec_put_datatype(send_type);
        rec_put_i32(rec_peer(dest));
        rec_put_i32(send_tag);
        put_envelope(receive_count, receive_type, source, receive_tag, comm);
        rec_put_one_status(status);
        rec_end();
    }
    return result;
}

int MPI_Sendrecv_replace(void *buffer, int count, MPI_Datatype datatype, int dest, int send_tag, int source,
                         int receive_tag, MPI_Comm comm, MPI_Status *status) {
    MPI_Status own;
    struct call call = rec_enter(34);
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int result = PMPI_Sendrecv_replace(buffer, count, datatype, dest, send_tag, source, receive_tag, comm, status);
    if (rec_leave(&call, TOOK_MESSAGE(result))) {
        rec_put_i32(count);
        rec_put_datatype(datatype);
        rec_put_i32(rec_peer(dest));
        rec_put_i32(send_tag);
        rec_put_i32(rec_peer(source));
        rec_put_i32(rec_tag(receive_tag));
        rec_put_comm(comm);
        rec_put_one_status(status);
        rec_end();
    }
    return result;
}

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
    int bytes = 0;
    PMPI_Get_count(status, MPI_BYTE, &bytes);
    put_envelope(bytes > 0 ? bytes : 0, MPI_BYTE, source, tag, comm);
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
