// network <port> <port of the server> <microseconds>
// Passes on what comes over TCP, in both directions, so much later. It ends with its standard input.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// The delay is the same for all, so one queue has everything in the order in which it is due.
struct chunk {
  struct chunk *next;
  long long due;
  int receiver;
  size_t size; // 0: the sender has ended
  char bytes[];
};

static struct chunk *head, **tail = &head;
static int peers[FD_SETSIZE];
static int is_half_closed[FD_SETSIZE];
static fd_set watched;
static long long delay;

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000LL + time.tv_nsec / 1000;
}

static struct sockaddr_in local(const char *port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(port))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

static void watch(int end, int peer) {
  int yes = 1;
  setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  peers[end] = peer;
  is_half_closed[end] = 0;
  FD_SET(end, &watched);
}

static void open_link(int listener, struct sockaddr_in server_address) {
  int client = accept(listener, NULL, NULL), server = socket(AF_INET, SOCK_STREAM, 0);
  if (client < 0 || client >= FD_SETSIZE || server < 0 || server >= FD_SETSIZE) exit(1);
  if (connect(server, (struct sockaddr *)&server_address, sizeof server_address) < 0) {
    close(client);
    close(server);
    return;
  }
  watch(client, server);
  watch(server, client);
}

static void receive(int sender) {
  static char buffer[65536];
  ssize_t size = read(sender, buffer, sizeof buffer);
  if (size < 0) size = 0;
  if (size == 0) FD_CLR(sender, &watched);
  struct chunk *chunk = malloc(sizeof *chunk + (size_t)size);
  if (chunk == NULL) exit(1);
  chunk->next = NULL;
  chunk->due = now() + delay;
  chunk->receiver = peers[sender];
  chunk->size = (size_t)size;
  memcpy(chunk->bytes, buffer, (size_t)size);
  *tail = chunk;
  tail = &chunk->next;
}

static void deliver(const struct chunk *chunk) {
  int receiver = chunk->receiver, sender = peers[receiver];
  // A receiver that has gone is noticed when it is read.
  for (size_t at = 0; at < chunk->size;) {
    ssize_t written = write(receiver, chunk->bytes + at, chunk->size - at);
    if (written < 0) break;
    at += (size_t)written;
  }
  if (chunk->size > 0) return;
  shutdown(receiver, SHUT_WR);
  is_half_closed[receiver] = 1;
  // Nothing is left in the queue for either.
  if (is_half_closed[sender]) {
    close(receiver);
    close(sender);
  }
}

int main(int count, char **arguments) {
  if (count != 4) return 2;
  struct sockaddr_in own = local(arguments[1]), server = local(arguments[2]);
  delay = atoll(arguments[3]);
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, (struct sockaddr *)&own, sizeof own) < 0 || listen(listener, 256) < 0) return 1;
  signal(SIGPIPE, SIG_IGN);
  FD_SET(STDIN_FILENO, &watched);
  FD_SET(listener, &watched);
  for (;;) {
    fd_set readable = watched;
    long long wait = head == NULL ? 0 : head->due - now();
    if (wait < 0) wait = 0;
    struct timeval timeout = {wait / 1000000, wait % 1000000};
    if (select(FD_SETSIZE, &readable, NULL, NULL, head == NULL ? NULL : &timeout) < 0) return 1;
    if (FD_ISSET(STDIN_FILENO, &readable)) return 0;
    for (int end = 0; end < FD_SETSIZE; end++) {
      if (!FD_ISSET(end, &readable)) continue;
      if (end == listener) open_link(listener, server);
      else receive(end);
    }
    while (head != NULL && head->due <= now()) {
      struct chunk *chunk = head;
      head = chunk->next;
      if (head == NULL) tail = &head;
      deliver(chunk);
      free(chunk);
    }
  }
}
