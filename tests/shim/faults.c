/* A disk that fails, for LD_PRELOAD. It wraps what a process writes to files whose path contains FELT_SHIM_MATCH:
 *
 *   crash     power is cut at an operation: it is torn, and of all that was not synced any part may be lost
 *   liar      the same, on a disk that says it has synced and has not
 *   enospc, eio, erofs   from an operation on, every write fails
 *   sync      the next sync fails, once
 *
 * FELT_SHIM_AFTER says at which operation (writes and syncs are counted), FELT_SHIM_SEED chooses what is lost. With
 * FELT_SHIM_WHEN writes fail only while that file exists.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_FILES 4096
#define SECTOR 512

/* What a write has overwritten, to be put back when it turns out not to have reached the disk. */
struct lost {
    char path[512];
    ino_t file;
    off_t at;
    size_t length;
    size_t old_length;
    unsigned char *old;
    struct lost *before;
};

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static char *watched[MOST_FILES];
static struct lost *unsynced;
static long operations;
static int sync_has_failed;
static unsigned seed;

static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pread)(int, void *, size_t, off_t);
static int (*real_fsync)(int), (*real_fdatasync)(int);
static int (*real_open)(const char *, int, ...);
static int (*real_close)(int);

static const char *setting(const char *name) { const char *value = getenv(name); return value ? value : ""; }
static int mode(const char *name) { return strcmp(setting("FELT_SHIM_MODE"), name) == 0; }
static long after(void) { return atol(setting("FELT_SHIM_AFTER")); }

__attribute__((constructor)) static void begin(void) {
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    real_write = dlsym(RTLD_NEXT, "write");
    real_pread = dlsym(RTLD_NEXT, "pread64");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    real_open = dlsym(RTLD_NEXT, "open64");
    real_close = dlsym(RTLD_NEXT, "close");
    seed = (unsigned)atol(setting("FELT_SHIM_SEED"));
}

static int wanted(const char *path) {
    const char *match = setting("FELT_SHIM_MATCH");
    return *match && strstr(path, match) && !strstr(path, "-shm") && !strstr(path, ".lock");
}

static int opened(int fd, const char *path) {
    if (fd >= 0 && fd < MOST_FILES && wanted(path)) {
        pthread_mutex_lock(&guard);
        free(watched[fd]);
        watched[fd] = strdup(path);
        pthread_mutex_unlock(&guard);
    }
    return fd;
}

static int is_watched(int fd) { return fd >= 0 && fd < MOST_FILES && watched[fd] != NULL; }

static void remember(int fd, off_t at, size_t length) {
    struct stat about;
    if (fstat(fd, &about) != 0) return;
    struct lost *one = calloc(1, sizeof *one);
    snprintf(one->path, sizeof one->path, "%s", watched[fd]);
    one->file = about.st_ino;
    one->at = at;
    one->length = length;
    one->old = malloc(length);
    int reader = real_open(watched[fd], O_RDONLY | O_CLOEXEC);
    ssize_t got = reader < 0 ? -1 : real_pread(reader, one->old, length, at);
    one->old_length = got < 0 ? 0 : (size_t)got;
    /* This descriptor is never closed: closing it would drop the locks that SQLite holds on the file. */
    one->before = unsynced;
    unsynced = one;
}

static void synced(int fd) {
    struct stat about;
    if (fstat(fd, &about) != 0) return;
    struct lost **link = &unsynced;
    while (*link) {
        struct lost *one = *link;
        if (one->file == about.st_ino) {
            *link = one->before;
            free(one->old);
            free(one);
        } else {
            link = &one->before;
        }
    }
}

/* The power goes: newest first, sector by sector, what was not synced is lost or not, as chance has it. */
static void cut(void) {
    static const unsigned char zeros[SECTOR];
    for (struct lost *one = unsynced; one; one = one->before) {
        int fd = real_open(one->path, O_WRONLY | O_CLOEXEC);
        if (fd < 0) continue;
        int all = rand_r(&seed) % 3;
        for (size_t from = 0; from < one->length; from += SECTOR) {
            size_t length = one->length - from < SECTOR ? one->length - from : SECTOR;
            if (all == 0 || (all == 1 && rand_r(&seed) % 2)) continue;
            size_t known = one->old_length > from ? one->old_length - from : 0;
            if (known > length) known = length;
            if (known && real_pwrite(fd, one->old + from, known, one->at + (off_t)from) < 0) continue;
            if (known < length && real_pwrite(fd, zeros, length - known, one->at + (off_t)(from + known)) < 0) continue;
        }
    }
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

static int meant(void) { const char *when = setting("FELT_SHIM_WHEN"); return !*when || access(when, F_OK) == 0; }
static int failure(void) { return mode("enospc") ? ENOSPC : mode("erofs") ? EROFS : mode("eio") ? EIO : 0; }

static ssize_t guarded_write(int fd, const void *data, size_t length, off_t at) {
    pthread_mutex_lock(&guard);
    operations++;
    int due = operations >= after();
    if (due && failure() && meant()) {
        pthread_mutex_unlock(&guard);
        errno = failure();
        return -1;
    }
    if (mode("crash") || mode("liar")) {
        remember(fd, at, length);
        if (due) {
            size_t part = length / SECTOR ? (size_t)rand_r(&seed) % (length / SECTOR + 1) * SECTOR : 0;
            if (part && real_pwrite(fd, data, part, at) < 0) part = 0;
            cut();
        }
    }
    ssize_t done = real_pwrite(fd, data, length, at);
    pthread_mutex_unlock(&guard);
    return done;
}

static int guarded_sync(int fd, int (*real)(int)) {
    pthread_mutex_lock(&guard);
    operations++;
    int done = 0;
    if (mode("sync") && operations >= after() && !sync_has_failed) {
        sync_has_failed = 1;
        errno = EIO;
        done = -1;
    } else if (mode("liar")) {
        if (operations >= after()) cut();
    } else {
        if (mode("crash") && operations >= after()) cut();
        done = real(fd);
        if (done == 0) synced(fd);
    }
    pthread_mutex_unlock(&guard);
    return done;
}

ssize_t pwrite64(int fd, const void *data, size_t length, off_t at) {
    return is_watched(fd) ? guarded_write(fd, data, length, at) : real_pwrite(fd, data, length, at);
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t at) { return pwrite64(fd, data, length, at); }

ssize_t write(int fd, const void *data, size_t length) {
    if (!is_watched(fd)) return real_write(fd, data, length);
    off_t at = lseek(fd, 0, SEEK_CUR);
    ssize_t done = guarded_write(fd, data, length, at);
    if (done > 0) lseek(fd, at + done, SEEK_SET);
    return done;
}

int fsync(int fd) { return is_watched(fd) ? guarded_sync(fd, real_fsync) : real_fsync(fd); }

int fdatasync(int fd) { return is_watched(fd) ? guarded_sync(fd, real_fdatasync) : real_fdatasync(fd); }

int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    int rights = (flags & O_CREAT) ? va_arg(more, int) : 0;
    va_end(more);
    return opened(real_open(path, flags, rights), path);
}

int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    int rights = (flags & O_CREAT) ? va_arg(more, int) : 0;
    va_end(more);
    return opened(real_open(path, flags, rights), path);
}

int close(int fd) {
    if (is_watched(fd)) {
        pthread_mutex_lock(&guard);
        free(watched[fd]);
        watched[fd] = NULL;
        pthread_mutex_unlock(&guard);
    }
    return real_close(fd);
}
