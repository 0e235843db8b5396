/* A stand-in for an MPI library, for tests on machines that have none: one process, nothing is sent. Only what the recorder
 * and the test's program use. stub.c includes it with STUB_DEFINED, which defines the functions that do nothing. */
#ifndef STUB_MPI_H
#define STUB_MPI_H
#include <stddef.h>
#include <stdint.h>

#define MPI_VERSION 4
typedef int MPI_Comm, MPI_Group, MPI_Datatype, MPI_Op, MPI_Info, MPI_Errhandler, MPI_Session, MPI_Message, MPI_Request, MPI_Win;
typedef intptr_t MPI_Aint;
typedef long long MPI_Count;
typedef struct { int MPI_SOURCE, MPI_TAG, MPI_ERROR, cancelled; MPI_Count bytes; } MPI_Status;
enum { MPI_COMM_NULL, MPI_COMM_WORLD, MPI_COMM_SELF };
enum { MPI_GROUP_NULL, MPI_GROUP_EMPTY, MPI_SESSION_NULL = 0, MPI_WIN_NULL = 0, MPI_REQUEST_NULL = 0, MPI_INFO_NULL = 0, MPI_ERRORS_ARE_FATAL = 0 };
/* A type's number is not its size: STUB_SIZES has them. */
enum { MPI_DATATYPE_NULL, MPI_CHAR, MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_BYTE, MPI_WCHAR, MPI_SHORT, MPI_UNSIGNED_SHORT,
       MPI_INT, MPI_UNSIGNED, MPI_LONG, MPI_UNSIGNED_LONG, MPI_FLOAT, MPI_DOUBLE, MPI_LONG_DOUBLE, MPI_LONG_LONG_INT,
       MPI_UNSIGNED_LONG_LONG, MPI_PACKED, MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_SHORT_INT, MPI_2INT,
       MPI_LONG_DOUBLE_INT, MPI_LONG_LONG = MPI_LONG_LONG_INT };
#define STUB_SIZES { 0, 1, 1, 1, 1, 4, 2, 2, 4, 4, 8, 8, 4, 8, 16, 8, 8, 1, 8, 12, 12, 6, 8, 20 }
enum { MPI_OP_NULL, MPI_MAX, MPI_MIN, MPI_SUM, MPI_PROD, MPI_LAND, MPI_BAND, MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MINLOC,
       MPI_MAXLOC, MPI_REPLACE };
enum { MPI_SUCCESS, MPI_ERR_TRUNCATE = 15, MPI_ERR_IN_STATUS = 17, MPI_IDENT = 0, MPI_UNEQUAL = 3 };
enum { MPI_ANY_SOURCE = -11, MPI_PROC_NULL = -12, MPI_ROOT = -13, MPI_ANY_TAG = -14, MPI_UNDEFINED = -32766 };
enum { MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE, MPI_MAX_LIBRARY_VERSION_STRING = 64 };
#define MPI_STATUS_IGNORE ((MPI_Status *)0)
#define MPI_STATUSES_IGNORE ((MPI_Status *)0)
#define MPI_IN_PLACE ((void *)-1)

#define DECLARED(name, ...) int MPI_##name(__VA_ARGS__); int PMPI_##name(__VA_ARGS__);
#ifdef STUB_DEFINED
#define NOTHING(name, ...)                                                         \
    int PMPI_##name(__VA_ARGS__) { return 0; }                                      \
    int MPI_##name(__VA_ARGS__) __attribute__((weak, alias("PMPI_" #name)));
#else
#define NOTHING DECLARED
#endif

#define SENDS(name)                                                                                                   \
    NOTHING(name, const void *b, int n, MPI_Datatype t, int d, int g, MPI_Comm c)                                     \
    NOTHING(name##_c, const void *b, MPI_Count n, MPI_Datatype t, int d, int g, MPI_Comm c)
#define REQUESTED(name)                                                                                               \
    DECLARED(name, const void *b, int n, MPI_Datatype t, int d, int g, MPI_Comm c, MPI_Request *r)                    \
    DECLARED(name##_c, const void *b, MPI_Count n, MPI_Datatype t, int d, int g, MPI_Comm c, MPI_Request *r)
#define RECEIVED(name)                                                                                                \
    DECLARED(name, void *b, int n, MPI_Datatype t, int s, int g, MPI_Comm c, MPI_Request *r)                          \
    DECLARED(name##_c, void *b, MPI_Count n, MPI_Datatype t, int s, int g, MPI_Comm c, MPI_Request *r)
#define COUNTS(suffix, N, A)                                                                                          \
    DECLARED(Recv##suffix, void *b, N n, MPI_Datatype t, int s, int g, MPI_Comm c, MPI_Status *st)                    \
    NOTHING(Sendrecv##suffix, const void *b, N n, MPI_Datatype t, int d, int g, void *b2, N n2, MPI_Datatype t2, int s, int g2, MPI_Comm c, MPI_Status *st) \
    NOTHING(Sendrecv_replace##suffix, void *b, N n, MPI_Datatype t, int d, int g, int s, int g2, MPI_Comm c, MPI_Status *st) \
    DECLARED(Isendrecv##suffix, const void *b, N n, MPI_Datatype t, int d, int g, void *b2, N n2, MPI_Datatype t2, int s, int g2, MPI_Comm c, MPI_Request *r) \
    DECLARED(Isendrecv_replace##suffix, void *b, N n, MPI_Datatype t, int d, int g, int s, int g2, MPI_Comm c, MPI_Request *r) \
    NOTHING(Mrecv##suffix, void *b, N n, MPI_Datatype t, MPI_Message *m, MPI_Status *st)                              \
    DECLARED(Imrecv##suffix, void *b, N n, MPI_Datatype t, MPI_Message *m, MPI_Request *r)                            \
    NOTHING(Bcast##suffix, void *b, N n, MPI_Datatype t, int root, MPI_Comm c)                                        \
    NOTHING(Gather##suffix, const void *b, N n, MPI_Datatype t, void *b2, N n2, MPI_Datatype t2, int root, MPI_Comm c) \
    NOTHING(Gatherv##suffix, const void *b, N n, MPI_Datatype t, void *b2, const N n2[], const A a[], MPI_Datatype t2, int root, MPI_Comm c) \
    NOTHING(Scatter##suffix, const void *b, N n, MPI_Datatype t, void *b2, N n2, MPI_Datatype t2, int root, MPI_Comm c) \
    NOTHING(Scatterv##suffix, const void *b, const N n[], const A a[], MPI_Datatype t, void *b2, N n2, MPI_Datatype t2, int root, MPI_Comm c) \
    NOTHING(Allgather##suffix, const void *b, N n, MPI_Datatype t, void *b2, N n2, MPI_Datatype t2, MPI_Comm c)       \
    NOTHING(Alltoall##suffix, const void *b, N n, MPI_Datatype t, void *b2, N n2, MPI_Datatype t2, MPI_Comm c)        \
    NOTHING(Allgatherv##suffix, const void *b, N n, MPI_Datatype t, void *b2, const N n2[], const A a[], MPI_Datatype t2, MPI_Comm c) \
    NOTHING(Alltoallv##suffix, const void *b, const N n[], const A a[], MPI_Datatype t, void *b2, const N n2[], const A a2[], MPI_Datatype t2, MPI_Comm c) \
    NOTHING(Alltoallw##suffix, const void *b, const N n[], const A a[], const MPI_Datatype t[], void *b2, const N n2[], const A a2[], const MPI_Datatype t2[], MPI_Comm c) \
    NOTHING(Reduce##suffix, const void *b, void *b2, N n, MPI_Datatype t, MPI_Op o, int root, MPI_Comm c)             \
    NOTHING(Allreduce##suffix, const void *b, void *b2, N n, MPI_Datatype t, MPI_Op o, MPI_Comm c)                    \
    NOTHING(Scan##suffix, const void *b, void *b2, N n, MPI_Datatype t, MPI_Op o, MPI_Comm c)                         \
    NOTHING(Exscan##suffix, const void *b, void *b2, N n, MPI_Datatype t, MPI_Op o, MPI_Comm c)                       \
    NOTHING(Reduce_scatter##suffix, const void *b, void *b2, const N n[], MPI_Datatype t, MPI_Op o, MPI_Comm c)

SENDS(Send) SENDS(Bsend) SENDS(Ssend) SENDS(Rsend)
REQUESTED(Isend) REQUESTED(Ibsend) REQUESTED(Issend) REQUESTED(Irsend)
REQUESTED(Send_init) REQUESTED(Bsend_init) REQUESTED(Ssend_init) REQUESTED(Rsend_init)
RECEIVED(Irecv) RECEIVED(Recv_init)
COUNTS(, int, int)
COUNTS(_c, MPI_Count, MPI_Aint)
DECLARED(Psend_init, const void *b, int p, MPI_Count n, MPI_Datatype t, int d, int g, MPI_Comm c, MPI_Info i, MPI_Request *r)
DECLARED(Precv_init, void *b, int p, MPI_Count n, MPI_Datatype t, int s, int g, MPI_Comm c, MPI_Info i, MPI_Request *r)
NOTHING(Pready, int p, MPI_Request r)
NOTHING(Parrived, MPI_Request r, int p, int *flag)
DECLARED(Ibarrier, MPI_Comm c, MPI_Request *r)
NOTHING(Barrier, MPI_Comm c)
DECLARED(Probe, int s, int g, MPI_Comm c, MPI_Status *st)
DECLARED(Iprobe, int s, int g, MPI_Comm c, int *flag, MPI_Status *st)
DECLARED(Mprobe, int s, int g, MPI_Comm c, MPI_Message *m, MPI_Status *st)
DECLARED(Improbe, int s, int g, MPI_Comm c, int *flag, MPI_Message *m, MPI_Status *st)
NOTHING(Start, MPI_Request *r)
NOTHING(Startall, int n, MPI_Request r[])
DECLARED(Cancel, MPI_Request *r)
DECLARED(Request_free, MPI_Request *r)
NOTHING(Request_get_status, MPI_Request r, int *flag, MPI_Status *st)
DECLARED(Wait, MPI_Request *r, MPI_Status *st)
DECLARED(Test, MPI_Request *r, int *flag, MPI_Status *st)
DECLARED(Waitany, int n, MPI_Request r[], int *index, MPI_Status *st)
DECLARED(Testany, int n, MPI_Request r[], int *index, int *flag, MPI_Status *st)
DECLARED(Waitall, int n, MPI_Request r[], MPI_Status st[])
DECLARED(Testall, int n, MPI_Request r[], int *flag, MPI_Status st[])
DECLARED(Waitsome, int n, MPI_Request r[], int *done, int index[], MPI_Status st[])
DECLARED(Testsome, int n, MPI_Request r[], int *done, int index[], MPI_Status st[])
DECLARED(Test_cancelled, const MPI_Status *st, int *flag)
DECLARED(Get_elements_x, const MPI_Status *st, MPI_Datatype t, MPI_Count *n)
DECLARED(Get_count, const MPI_Status *st, MPI_Datatype t, int *n)
DECLARED(Type_size_x, MPI_Datatype t, MPI_Count *size)
NOTHING(Type_free, MPI_Datatype *t)
DECLARED(Error_class, int code, int *class_)
DECLARED(Comm_rank, MPI_Comm c, int *rank)
DECLARED(Comm_size, MPI_Comm c, int *size)
DECLARED(Comm_test_inter, MPI_Comm c, int *flag)
NOTHING(Comm_remote_size, MPI_Comm c, int *size)
NOTHING(Comm_group, MPI_Comm c, MPI_Group *g)
DECLARED(Comm_dup, MPI_Comm c, MPI_Comm *n)
DECLARED(Comm_dup_with_info, MPI_Comm c, MPI_Info i, MPI_Comm *n)
DECLARED(Comm_idup, MPI_Comm c, MPI_Comm *n, MPI_Request *r)
NOTHING(Comm_create, MPI_Comm c, MPI_Group g, MPI_Comm *n)
NOTHING(Comm_split, MPI_Comm c, int colour, int key, MPI_Comm *n)
NOTHING(Comm_split_type, MPI_Comm c, int type, int key, MPI_Info i, MPI_Comm *n)
DECLARED(Comm_free, MPI_Comm *c)
NOTHING(Comm_disconnect, MPI_Comm *c)
NOTHING(Dist_graph_create, MPI_Comm c, int n, const int s[], const int e[], const int d[], const int w[], MPI_Info i, int o, MPI_Comm *m)
NOTHING(Dist_graph_create_adjacent, MPI_Comm c, int n, const int s[], const int w[], int m, const int d[], const int v[], MPI_Info i, int o, MPI_Comm *k)
NOTHING(Cart_create, MPI_Comm c, int n, const int d[], const int p[], int o, MPI_Comm *m)
NOTHING(Cart_sub, MPI_Comm c, const int r[], MPI_Comm *m)
NOTHING(Cartdim_get, MPI_Comm c, int *n)
NOTHING(Graph_create, MPI_Comm c, int n, const int x[], const int e[], int o, MPI_Comm *m)
NOTHING(Intercomm_create, MPI_Comm c, int l, MPI_Comm p, int q, int g, MPI_Comm *m)
NOTHING(Intercomm_merge, MPI_Comm c, int high, MPI_Comm *m)
NOTHING(Comm_remote_group, MPI_Comm c, MPI_Group *g)
NOTHING(Group_union, MPI_Group a, MPI_Group b, MPI_Group *g)
NOTHING(Group_intersection, MPI_Group a, MPI_Group b, MPI_Group *g)
NOTHING(Group_difference, MPI_Group a, MPI_Group b, MPI_Group *g)
NOTHING(Group_incl, MPI_Group a, int n, const int r[], MPI_Group *g)
NOTHING(Group_excl, MPI_Group a, int n, const int r[], MPI_Group *g)
NOTHING(Group_range_incl, MPI_Group a, int n, int r[][3], MPI_Group *g)
NOTHING(Group_range_excl, MPI_Group a, int n, int r[][3], MPI_Group *g)
NOTHING(Group_free, MPI_Group *g)
NOTHING(Group_translate_ranks, MPI_Group a, int n, const int r[], MPI_Group b, int s[])
DECLARED(Group_compare, MPI_Group a, MPI_Group b, int *order)
NOTHING(Group_rank, MPI_Group g, int *rank)
DECLARED(Group_size, MPI_Group g, int *size)
DECLARED(Group_from_session_pset, MPI_Session s, const char *name, MPI_Group *g)
DECLARED(Session_init, MPI_Info i, MPI_Errhandler e, MPI_Session *s)
NOTHING(Session_finalize, MPI_Session *s)
NOTHING(Put, const void *b, int n, MPI_Datatype t, int peer, MPI_Aint at, int m, MPI_Datatype u, MPI_Win w)
NOTHING(Comm_get_parent, MPI_Comm *c)
DECLARED(Comm_create_from_group, MPI_Group g, const char *tag, MPI_Info i, MPI_Errhandler e, MPI_Comm *c)
DECLARED(Get_library_version, char *version, int *length)
NOTHING(Init, int *argc, char ***argv)
DECLARED(Init_thread, int *argc, char ***argv, int required, int *provided)
NOTHING(Finalize, void)
NOTHING(Abort, MPI_Comm c, int code)
#endif
