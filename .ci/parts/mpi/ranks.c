/* Each rank counts all ranks, tells where it runs, sleeps for so many seconds, and exits with a code:
   ranks SECONDS CODE, where only the last rank exits with another code than 0. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank, size, one = 1, sum = 0;
	int seconds = argc > 1 ? atoi(argv[1]) : 0;
	int code = argc > 2 ? atoi(argv[2]) : 0;
	char host[256];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	gethostname(host, sizeof host);
	printf("rank %d of %d sum %d host %s pid %d\n", rank, size, sum, host, (int)getpid());
	fflush(stdout);
	if (code != 0 && rank == size - 1)
		exit(code);
	sleep(seconds);
	MPI_Finalize();
	return 0;
}
