! The same as halo.c: the good exchange with the module mpi, the bad one with mpi_f08.

module exchanges
  implicit none
  integer, parameter :: borders = 8
contains

  integer function early(rank, ranks, values)
    use mpi
    integer, intent(in) :: rank, ranks, values(borders)
    integer :: got(borders), requests(2 * borders), statuses(MPI_STATUS_SIZE, 2 * borders), error, k
    do k = 1, borders
      call MPI_Irecv(got(k), 1, MPI_INTEGER, modulo(rank - 1, ranks), k, MPI_COMM_WORLD, requests(k), error)
    end do
    call MPI_Barrier(MPI_COMM_WORLD, error)
    do k = 1, borders
      call MPI_Isend(values(k), 1, MPI_INTEGER, modulo(rank + 1, ranks), k, MPI_COMM_WORLD, requests(borders + k), error)
    end do
    call MPI_Waitall(2 * borders, requests, statuses, error)
    early = sum(got)
  end function

  integer function late(rank, ranks, values)
    use mpi_f08
    integer, intent(in) :: rank, ranks, values(borders)
    integer, asynchronous :: got(borders)
    type(MPI_Request) :: requests(borders)
    integer :: k
    do k = 1, borders
      call MPI_Isend(values(k), 1, MPI_INTEGER, modulo(rank + 1, ranks), k, MPI_COMM_WORLD, requests(k))
    end do
    call MPI_Barrier(MPI_COMM_WORLD)
    do k = borders, 1, -1
      call MPI_Recv(got(k), 1, MPI_INTEGER, modulo(rank - 1, ranks), k, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    end do
    call MPI_Waitall(borders, requests, MPI_STATUSES_IGNORE)
    late = sum(got)
  end function

end module

program halo
  use mpi
  use exchanges
  implicit none
  integer, parameter :: rounds = 20
  integer :: rank, ranks, values(borders), total, all, error, k
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  values = [(rank * borders + k, k = 0, borders - 1)]
  total = 0
  do k = 1, rounds
    total = total + early(rank, ranks, values) + late(rank, ranks, values)
  end do
  call MPI_Reduce(total, all, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
  if (rank == 0) print '(a, i0, a, i0)', 'sum ', all, ', expected ', rounds * ranks * borders * (ranks * borders - 1)
  call MPI_Finalize(error)
end program
