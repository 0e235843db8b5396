/* The stand-in's functions that do something: requests complete as the test's program expects. */
#define STUB_DEFINED
#include "mpi.h"
#include <string.h>

#define ALSO(name) extern __typeof__(PMPI_##name) MPI_##name __attribute__((weak, alias("PMPI_" #name)));

enum { REQUESTS = 256 };
static MPI_Status pending[REQUESTS];
static int last_request, last_comm = 100, free_comm;

static MPI_Count size_of(MPI_Datatype type) {
    static const MPI_Count sizes[] = STUB_SIZES;
    return sizes[type];
}
/* What a receive gets: wildcards find rank 1 and tag 77. */
static MPI_Status message(MPI_Count count, MPI_Datatype type, int source, int tag) {
    MPI_Status status = {.MPI_SOURCE = source == MPI_ANY_SOURCE ? 1 : source, .MPI_TAG = tag == MPI_ANY_TAG ? 77 : tag,
                         .bytes = count * size_of(type)};
    return status;
}
static int begin(MPI_Request *request, MPI_Status status) {
    *request = 1 + last_request++ % (REQUESTS - 1);
    pending[*request] = status;
    return MPI_SUCCESS;
}
static void complete(MPI_Request *request, MPI_Status *status) {
    if (status != MPI_STATUS_IGNORE) {
        *status = pending[*request];
    }
    *request = MPI_REQUEST_NULL;
}

#define OPERATION(name, buffer, N)                                                                               \
    int PMPI_##name(buffer *b, N n, MPI_Datatype t, int peer, int g, MPI_Comm c, MPI_Request *r) {               \
        return begin(r, message(n, t, peer, g));                                                                 \
    }                                                                                                            \
    ALSO(name)
#define OPERATIONS(name, buffer) OPERATION(name, buffer, int) OPERATION(name##_c, buffer, MPI_Count)
OPERATIONS(Isend, const void) OPERATIONS(Ibsend, const void) OPERATIONS(Issend, const void) OPERATIONS(Irsend, const void)
OPERATIONS(Send_init, const void) OPERATIONS(Bsend_init, const void) OPERATIONS(Ssend_init, const void)
OPERATIONS(Rsend_init, const void) OPERATIONS(Irecv, void) OPERATIONS(Recv_init, void)

#define BOTH_WAYS(suffix, N)                                                                                      \
    int PMPI_Recv##suffix(void *b, N n, MPI_Datatype t, int s, int g, MPI_Comm c, MPI_Status *st) {               \
        *st = message(n, t, s, g);                                                                                \
        return MPI_SUCCESS;                                                                                       \
    }                                                                                                             \
    ALSO(Recv##suffix)                                                                                            \
    int PMPI_Isendrecv##suffix(const void *b, N n, MPI_Datatype t, int d, int g, void *b2, N n2, MPI_Datatype t2, \
                               int s, int g2, MPI_Comm c, MPI_Request *r) {                                       \
        return begin(r, message(n2, t2, s, g2));                                                                  \
    }                                                                                                             \
    ALSO(Isendrecv##suffix)                                                                                       \
    int PMPI_Isendrecv_replace##suffix(void *b, N n, MPI_Datatype t, int d, int g, int s, int g2, MPI_Comm c,     \
                                       MPI_Request *r) {                                                          \
        return begin(r, message(n, t, s, g2));                                                                    \
    }                                                                                                             \
    ALSO(Isendrecv_replace##suffix)                                                                               \
    int PMPI_Imrecv##suffix(void *b, N n, MPI_Datatype t, MPI_Message *m, MPI_Request *r) {                       \
        return begin(r, message(n, t, 1, 77));                                                                    \
    }                                                                                                             \
    ALSO(Imrecv##suffix)
BOTH_WAYS(, int)
BOTH_WAYS(_c, MPI_Count)

int PMPI_Psend_init(const void *b, int p, MPI_Count n, MPI_Datatype t, int d, int g, MPI_Comm c, MPI_Info i, MPI_Request *r) {
    return begin(r, message(0, t, MPI_PROC_NULL, 0));
}
int PMPI_Precv_init(void *b, int p, MPI_Count n, MPI_Datatype t, int s, int g, MPI_Comm c, MPI_Info i, MPI_Request *r) {
    return begin(r, message(0, t, MPI_PROC_NULL, 0));
}
int PMPI_Ibarrier(MPI_Comm c, MPI_Request *r) { return begin(r, message(0, MPI_BYTE, MPI_PROC_NULL, 0)); }
int PMPI_Probe(int s, int g, MPI_Comm c, MPI_Status *st) { return *st = message(5, MPI_INT, s, g), 0; }
int PMPI_Iprobe(int s, int g, MPI_Comm c, int *flag, MPI_Status *st) { return *flag = 0; }
int PMPI_Mprobe(int s, int g, MPI_Comm c, MPI_Message *m, MPI_Status *st) { return *st = message(6, MPI_INT, s, g), 0; }
int PMPI_Improbe(int s, int g, MPI_Comm c, int *flag, MPI_Message *m, MPI_Status *st) {
    *flag = 1;
    return *st = message(7, MPI_INT, s, g), 0;
}
int PMPI_Cancel(MPI_Request *r) { return pending[*r].cancelled = 1, 0; }
int PMPI_Request_free(MPI_Request *r) { return *r = MPI_REQUEST_NULL; }
/* Two tags have a meaning: operations that no test completes, and messages that are longer than their buffers. */
enum { UNFINISHED = 98, TRUNCATED = 99 };
static int is_finished(MPI_Request r) { return pending[r].MPI_TAG != UNFINISHED; }
static int error_of(MPI_Request r) { return pending[r].MPI_TAG == TRUNCATED ? MPI_ERR_TRUNCATE : MPI_SUCCESS; }
int PMPI_Error_class(int code, int *class_) { return *class_ = code, 0; }
int PMPI_Wait(MPI_Request *r, MPI_Status *st) {
    const int error = error_of(*r);
    return complete(r, st), error;
}
int PMPI_Test(MPI_Request *r, int *flag, MPI_Status *st) { return (*flag = is_finished(*r)) ? PMPI_Wait(r, st) : 0; }
/* The last request is first. */
int PMPI_Waitany(int n, MPI_Request r[], int *index, MPI_Status *st) { return *index = n - 1, PMPI_Wait(&r[n - 1], st); }
/* Where none is complete, the index stays as it was. */
int PMPI_Testany(int n, MPI_Request r[], int *index, int *flag, MPI_Status *st) {
    return (*flag = is_finished(r[n - 1])) ? PMPI_Waitany(n, r, index, st) : 0;
}
int PMPI_Waitall(int n, MPI_Request r[], MPI_Status st[]) {
    int result = MPI_SUCCESS;
    for (int k = 0; k < n; k++) {
        const int error = PMPI_Wait(&r[k], st == MPI_STATUSES_IGNORE ? st : &st[k]);
        if (st != MPI_STATUSES_IGNORE) {
            st[k].MPI_ERROR = error;
        }
        result = error != MPI_SUCCESS ? MPI_ERR_IN_STATUS : result;
    }
    return result;
}
int PMPI_Testall(int n, MPI_Request r[], int *flag, MPI_Status st[]) {
    return (*flag = is_finished(r[n - 1])) ? PMPI_Waitall(n, r, st) : 0;
}
/* The last and the first, in this order. */
int PMPI_Waitsome(int n, MPI_Request r[], int *done, int index[], MPI_Status st[]) {
    *done = 2;
    for (int k = 0; k < *done; k++) {
        index[k] = k == 0 ? n - 1 : 0;
        complete(&r[index[k]], st == MPI_STATUSES_IGNORE ? st : &st[k]);
    }
    return MPI_SUCCESS;
}
int PMPI_Testsome(int n, MPI_Request r[], int *done, int index[], MPI_Status st[]) {
    return is_finished(r[n - 1]) ? PMPI_Waitsome(n, r, done, index, st) : (*done = 0);
}
int PMPI_Test_cancelled(const MPI_Status *st, int *flag) { return *flag = st->cancelled, 0; }
int PMPI_Get_elements_x(const MPI_Status *st, MPI_Datatype t, MPI_Count *n) { return *n = st->bytes / size_of(t), 0; }
int PMPI_Get_count(const MPI_Status *st, MPI_Datatype t, int *n) { return *n = (int)(st->bytes / size_of(t)), 0; }
int PMPI_Type_size_x(MPI_Datatype t, MPI_Count *size) { return *size = size_of(t), 0; }
int PMPI_Comm_rank(MPI_Comm c, int *rank) { return *rank = 0; }
int PMPI_Comm_size(MPI_Comm c, int *size) { return *size = 1, 0; }
int PMPI_Comm_test_inter(MPI_Comm c, int *flag) { return *flag = 0; }
/* The handle that was freed last is the next one. */
int PMPI_Comm_free(MPI_Comm *c) { return free_comm = *c, *c = MPI_COMM_NULL, 0; }
int PMPI_Comm_dup(MPI_Comm c, MPI_Comm *n) {
    *n = free_comm != 0 ? free_comm : last_comm++;
    free_comm = 0;
    return MPI_SUCCESS;
}
int PMPI_Comm_dup_with_info(MPI_Comm c, MPI_Info i, MPI_Comm *n) { return *n = last_comm++, 0; }
int PMPI_Comm_idup(MPI_Comm c, MPI_Comm *n, MPI_Request *r) { return *n = last_comm++, PMPI_Ibarrier(c, r); }
int PMPI_Group_compare(MPI_Group a, MPI_Group b, int *order) { return *order = a == b ? MPI_IDENT : MPI_UNEQUAL, 0; }
int PMPI_Group_size(MPI_Group g, int *size) { return *size = 1, 0; }
int PMPI_Group_from_session_pset(MPI_Session s, const char *name, MPI_Group *g) { return *g = 9, 0; }
int PMPI_Session_init(MPI_Info i, MPI_Errhandler e, MPI_Session *s) { return *s = 3, 0; }
int PMPI_Comm_create_from_group(MPI_Group g, const char *tag, MPI_Info i, MPI_Errhandler e, MPI_Comm *c) {
    return *c = last_comm++, 0;
}
int PMPI_Get_library_version(char *version, int *length) { return *length = 4, strcpy(version, "stub"), 0; }
int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided) { return *provided = required, 0; }
ALSO(Psend_init) ALSO(Precv_init) ALSO(Ibarrier) ALSO(Probe) ALSO(Iprobe) ALSO(Mprobe) ALSO(Improbe) ALSO(Request_free) ALSO(Wait)
ALSO(Cancel) ALSO(Comm_free) ALSO(Test) ALSO(Waitany) ALSO(Testany) ALSO(Waitall) ALSO(Testall) ALSO(Waitsome) ALSO(Testsome) ALSO(Test_cancelled)
ALSO(Get_elements_x) ALSO(Get_count) ALSO(Type_size_x) ALSO(Comm_rank) ALSO(Comm_size) ALSO(Comm_test_inter) ALSO(Comm_dup)
ALSO(Comm_dup_with_info) ALSO(Comm_idup) ALSO(Group_compare) ALSO(Group_size) ALSO(Group_from_session_pset) ALSO(Session_init)
ALSO(Comm_create_from_group) ALSO(Get_library_version) ALSO(Init_thread) ALSO(Error_class)
