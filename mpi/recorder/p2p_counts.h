/* Sends and receives. p2p.c includes this twice: with the counts of MPI-3, and with those of MPI-4 (MPI_Count,
 * functions that end in _c). It defines NAME and COUNT. */

#define SEND(number, name)                                                                                       \
    int NAME(MPI_##name)(const void *buffer, COUNT count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {     \
        struct call call = rec_enter(number);                                                                    \
        int result = NAME(PMPI_##name)(buffer, count, datatype, dest, tag, comm);                                      \
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
#undef SEND

/* Nonblocking and persistent sends, which differ in the kind of their request. */
#define SEND_WITH_REQUEST(number, name, persistent)                                                              \
    int NAME(MPI_##name)(const void *buffer, COUNT count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,       \
                   MPI_Request *request) {                                                                       \
        struct call call = rec_enter(number);                                                                    \
        int result = NAME(PMPI_##name)(buffer, count, datatype, dest, tag, comm, request);                             \
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
#undef SEND_WITH_REQUEST

#define RECEIVE_WITH_REQUEST(number, name, persistent)                                                           \
    int NAME(MPI_##name)(void *buffer, COUNT count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,           \
                   MPI_Request *request) {                                                                       \
        struct call call = rec_enter(number);                                                                    \
        int result = NAME(PMPI_##name)(buffer, count, datatype, source, tag, comm, request);                           \
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
#undef RECEIVE_WITH_REQUEST

int NAME(MPI_Recv)(void *buffer, COUNT count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
             MPI_Status *status) {
    MPI_Status own;
    struct call call = rec_enter(1);
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int result = NAME(PMPI_Recv)(buffer, count, datatype, source, tag, comm, status);
    if (rec_leave(&call, TOOK_MESSAGE(result))) {
        put_envelope(count, datatype, source, tag, comm);
        rec_put_one_status(status);
        rec_end();
    }
    return result;
}

int NAME(MPI_Sendrecv)(const void *send_buffer, COUNT send_count, MPI_Datatype send_type, int dest, int send_tag,
                 void *receive_buffer, COUNT receive_count, MPI_Datatype receive_type, int source, int receive_tag,
                 MPI_Comm comm, MPI_Status *status) {
    MPI_Status own;
    struct call call = rec_enter(33);
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int result = NAME(PMPI_Sendrecv)(send_buffer, send_count, send_type, dest, send_tag, receive_buffer, receive_count,
                               receive_type, source, receive_tag, comm, status);
    if (rec_leave(&call, TOOK_MESSAGE(result))) {
        rec_put_amount(send_count, send_type);
        rec_put_i32(rec_peer(dest));
        rec_put_i32(send_tag);
        put_envelope(receive_count, receive_type, source, receive_tag, comm);
        rec_put_one_status(status);
        rec_end();
    }
    return result;
}

int NAME(MPI_Sendrecv_replace)(void *buffer, COUNT count, MPI_Datatype datatype, int dest, int send_tag, int source,
                         int receive_tag, MPI_Comm comm, MPI_Status *status) {
    MPI_Status own;
    struct call call = rec_enter(34);
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int result = NAME(PMPI_Sendrecv_replace)(buffer, count, datatype, dest, send_tag, source, receive_tag, comm, status);
    if (rec_leave(&call, TOOK_MESSAGE(result))) {
        rec_put_amount(count, datatype);
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

#ifdef HAVE_MPI_Isendrecv
/* The format has no call that does both. The record is a receive, which has the request, and a send whose request is
 * freed, as MPI allows: three records of one call. */
int NAME(MPI_Isendrecv)(const void *send_buffer, COUNT send_count, MPI_Datatype send_type, int dest, int send_tag,
                        void *receive_buffer, COUNT receive_count, MPI_Datatype receive_type, int source,
                        int receive_tag, MPI_Comm comm, MPI_Request *request) {
    struct call call = rec_enter(12);
    int result = NAME(PMPI_Isendrecv)(send_buffer, send_count, send_type, dest, send_tag, receive_buffer,
                                      receive_count, receive_type, source, receive_tag, comm, request);
    put_both(&call, result, send_count, send_type, dest, send_tag, receive_count, receive_type, source, receive_tag,
             comm, request);
    return result;
}

int NAME(MPI_Isendrecv_replace)(void *buffer, COUNT count, MPI_Datatype datatype, int dest, int send_tag, int source,
                                int receive_tag, MPI_Comm comm, MPI_Request *request) {
    struct call call = rec_enter(12);
    int result = NAME(PMPI_Isendrecv_replace)(buffer, count, datatype, dest, send_tag, source, receive_tag, comm,
                                              request);
    put_both(&call, result, count, datatype, dest, send_tag, count, datatype, source, receive_tag, comm, request);
    return result;
}
#endif
