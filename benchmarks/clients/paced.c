/* The floor: what a small C program can do. One thread; a timerfd and epoll; each 20 ms frame of
   each stream is masked and handed to its own websocket by one send.

   paced PORT CORE PRIORITY STREAMS FRAMES; prints processor time (ns) and the number of frames. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { STEP_NS = 20000000, LEAD_NS = 200000000, PAYLOAD = 640, HEADER = 8 };
static const int64_t SECOND_NS = 1000000000;

static int64_t clock_ns(clockid_t which) {
    struct timespec t;
    clock_gettime(which, &t);
    return t.tv_sec * SECOND_NS + t.tv_nsec;
}

static int open_websocket(int port) {
    static const char request[] =
        "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    char answer[4096];
    int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (void *)&address, sizeof address) != 0) return -1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (write(fd, request, sizeof request - 1) < 0) return -1;
    return read(fd, answer, sizeof answer) > 0 ? fd : -1;
}

static void take_core(int core, int priority) {
    struct sched_param param = {.sched_priority = priority};
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    sched_setaffinity(0, sizeof set, &set);
    sched_setscheduler(0, SCHED_FIFO, &param); /* where it is forbidden: as ordinary ones */
}

/* The mark: stream, index (32 bits each), due (64 bits); audio behind it; all of it masked. */
static void encode(unsigned char *frame, const unsigned char *audio, uint32_t stream,
                   uint32_t index, uint64_t due_ns) {
    unsigned char plain[PAYLOAD];
    uint32_t mask = (uint32_t)rand(), word;
    memcpy(plain, &stream, 4);
    memcpy(plain + 4, &index, 4);
    memcpy(plain + 8, &due_ns, 8);
    memcpy(plain + 16, audio, PAYLOAD - 16);
    frame[0] = 0x82;
    frame[1] = 0x80 | 126;
    frame[2] = PAYLOAD >> 8;
    frame[3] = PAYLOAD & 255;
    memcpy(frame + 4, &mask, 4);
    for (int i = 0; i < PAYLOAD; i += 4) {
        memcpy(&word, plain + i, 4);
        word ^= mask;
        memcpy(frame + HEADER + i, &word, 4);
    }
}

int main(int count, char **words) {
    if (count != 6) return 2;
    int port = atoi(words[1]), streams = atoi(words[4]), frames = atoi(words[5]);
    int *sockets = calloc(streams, sizeof *sockets);
    unsigned char audio[PAYLOAD], frame[HEADER + PAYLOAD];
    struct epoll_event event = {.events = EPOLLIN};
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), poll = epoll_create1(0);

    for (int i = 0; i < PAYLOAD; i++) audio[i] = rand();
    for (int i = 0; i < streams; i++)
        if ((sockets[i] = open_websocket(port)) < 0) return 1;
    epoll_ctl(poll, EPOLL_CTL_ADD, timer, &event);
    take_core(atoi(words[2]), atoi(words[3]));

    int64_t cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    int64_t start_ns = clock_ns(CLOCK_MONOTONIC) + LEAD_NS;
    for (int index = 0; index < frames; index++)
        for (int stream = 0; stream < streams; stream++) {
            int64_t due_ns = start_ns + (int64_t)index * STEP_NS + (int64_t)stream * STEP_NS / streams;
            if (clock_ns(CLOCK_MONOTONIC) < due_ns) {
                struct itimerspec at = {.it_value = {due_ns / SECOND_NS, due_ns % SECOND_NS}};
                timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
                epoll_wait(poll, &event, 1, -1);
            }
            encode(frame, audio, stream, index, due_ns);
            if (send(sockets[stream], frame, sizeof frame, 0) != sizeof frame) return 1;
        }
    printf("%lld %d\n", (long long)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns), streams * frames);
    return 0;
}
