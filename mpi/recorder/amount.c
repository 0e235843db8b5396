/* Counts and lengths beyond 31 bits, which is what a record has room for. */

#include "record.h"

enum { DIVISORS_TRIED = 1 << 16 };

MPI_Count rec_times(MPI_Count a, MPI_Count b) {
    MPI_Count product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

int64_t rec_at_least(MPI_Count value) {
    if (value <= INT32_MAX) {
        return value;
    }
    rec_note(NOTE_AT_LEAST);
    return INT32_MAX;
}

/* As elements of a size that divides the bytes, if there is one; otherwise a little less, which is noted. */
static void put_bytes(MPI_Count bytes) {
    const MPI_Count smallest = bytes / INT32_MAX + 1;
    MPI_Count size = smallest;
    while (bytes % size != 0 && size < smallest + DIVISORS_TRIED) {
        size++;
    }
    if (bytes % size != 0 || size > INT32_MAX) {
        rec_note(NOTE_AT_LEAST);
        size = smallest > INT32_MAX ? INT32_MAX : smallest;
    }
    MPI_Count count = bytes / size;
    rec_put_i32(count > INT32_MAX ? INT32_MAX : count);
    rec_put_u16(rec_datatype_of_size((int32_t)size));
}

void rec_put_amount(MPI_Count count, MPI_Datatype datatype) {
    MPI_Count size = 0;
    if (count > 0 && datatype != MPI_DATATYPE_NULL && PMPI_Type_size_x(datatype, &size) == MPI_SUCCESS &&
        (count > INT32_MAX || size > INT32_MAX)) {
        put_bytes(rec_times(count, size));
        return;
    }
    rec_put_i32(count);
    rec_put_datatype(datatype);
}
