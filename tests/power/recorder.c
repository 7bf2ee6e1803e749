/* Loaded before libc (LD_PRELOAD), it writes every change of a file below a folder into a log, with its bytes, in the order in which they
 * happened, whoever makes it: the store's own modules, SQLite, any thread. On demand the k-th of them fails. It calls the kernel itself.
 *
 * A record of the log: kind (1 byte), error (1 byte), 2 bytes unused, fd (4), offset or flags (8), length of the first bytes (4) and of
 * the second (4), then both. Little-endian, as the machine is.
 *
 *   O open (flags; path)   C close   D dup (offset: the new one)   W write (offset; data)   T truncate (offset: size)
 *   S sync   R rename (path; path)   U unlink (path)   M mkdir (path)   X rmdir (path)   N note (bytes of the test)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MOST_FDS = 4096 };
/* How the k-th operation fails: once with an error; a short write; a disk that is full, or gone, until it is mended. */
enum { NEVER, ONCE_EIO, ONCE_ENOSPC, SHORT, FULL, GONE };

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_MAX];
static size_t root_length;
static int log_fd = -1;
static unsigned char tracked[MOST_FDS];
static long many, fail_at, die_in = -1;
static int fail_how;

static void put(const void *data, size_t size) {
    const char *at = data;
    while (size) {
        long done = syscall(SYS_write, log_fd, at, size);
        if (done <= 0) _exit(97);
        at += done;
        size -= (size_t)done;
    }
}

/* As kill -9 does, so many records after the failure. */
static void may_die(void) {
    if (die_in >= 0 && many >= fail_at && fail_how != NEVER && die_in-- == 0) _exit(86);
}

static void record(char kind, int error, int fd, int64_t offset, const void *a, size_t a_size, const void *b, size_t b_size) {
    struct { char kind; uint8_t error; uint16_t unused; int32_t fd; int64_t offset; uint32_t a, b; } head = {
        kind, (uint8_t)error, 0, fd, offset, (uint32_t)a_size, (uint32_t)b_size};
    if (kind != 'N') may_die();
    put(&head, sizeof head);
    put(a, a_size);
    put(b, b_size);
}

/* Absolute path of what is named; whether it lies below the folder. */
static int resolve(int at, const char *path, char *whole) {
    if (log_fd < 0 || !path) return 0;
    if (path[0] == '/') {
        if (snprintf(whole, PATH_MAX, "%s", path) >= PATH_MAX) return 0;
    } else {
        char link[64], base[PATH_MAX];
        if (at == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
        else snprintf(link, sizeof link, "/proc/self/fd/%d", at);
        long size = syscall(SYS_readlink, link, base, sizeof base - 1);
        if (size < 0) return 0;
        base[size] = 0;
        if (snprintf(whole, PATH_MAX, "%s/%s", base, path) >= PATH_MAX) return 0;
    }
    return !strncmp(whole, root, root_length) && (whole[root_length] == '/' || !whole[root_length]);
}

static int is_tracked(int fd) { return log_fd >= 0 && fd >= 0 && fd < MOST_FDS && tracked[fd]; }

/* The error this operation has to fail with, or 0; -1: a write of half of it. `grows`: whether it needs room on the disk. */
static int fault(int grows, int is_write) {
    if (fail_how == NEVER) return 0;
    if (fail_how == SHORT && !is_write) return 0;
    if ((fail_how == ONCE_ENOSPC || fail_how == FULL) && !grows) return 0;
    many++;
    switch (fail_how) {
    case ONCE_EIO: return many == fail_at ? EIO : 0;
    case ONCE_ENOSPC: return many == fail_at ? ENOSPC : 0;
    case SHORT: return many == fail_at ? -1 : 0;
    case FULL: return many == fail_at && is_write ? -1 : many >= fail_at ? ENOSPC : 0;
    case GONE: return many >= fail_at ? EIO : 0;
    }
    return 0;
}

static void begin(void) { pthread_mutex_lock(&one); }

static long end(long result, int error) {
    pthread_mutex_unlock(&one);
    if (error) errno = error;
    return result;
}

/* --- what the test calls */

void power_start(const char *log, const char *folder) {
    begin();
    memset(tracked, 0, sizeof tracked);
    snprintf(root, sizeof root, "%s", folder);
    root_length = strlen(root);
    log_fd = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (log_fd < 0) _exit(98);
    long high = syscall(SYS_fcntl, log_fd, F_DUPFD_CLOEXEC, 1000); /* out of the way */
    syscall(SYS_close, log_fd);
    log_fd = (int)high;
    end(0, 0);
}

/* `at` counts from 1 from now on; how 0: nothing fails any more; die: so many records later the process is killed, -1: it is not.
 * How many operations were counted since the last call. */
long power_fail(int how, long at, long die) {
    begin();
    die_in = die;
    long was = many;
    many = 0;
    fail_how = how;
    fail_at = at;
    return end(was, 0);
}

void power_note(const char *text, size_t size) {
    begin();
    if (log_fd >= 0) record('N', 0, -1, 0, text, size, "", 0);
    end(0, 0);
}

/* --- what stands before libc */

static int open_at(int at, const char *path, int flags, mode_t mode) {
    char whole[PATH_MAX];
    begin();
    int ours = resolve(at, path, whole), made = flags & O_CREAT, error = 0;
    if (ours && made && syscall(SYS_faccessat, at, path, F_OK)) error = fault(1, 0);
    if (error) return (int)end(-1, error);
    long fd = syscall(SYS_openat, at, path, flags, mode);
    error = errno;
    if (fd >= 0 && fd < MOST_FDS) tracked[fd] = (unsigned char)ours;
    if (fd >= 0 && ours) record('O', 0, (int)fd, flags, whole, strlen(whole), "", 0);
    return (int)end(fd, fd < 0 ? error : 0);
}

#define MODE(flags, last) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { \
        va_list list; \
        va_start(list, last); \
        mode = va_arg(list, mode_t); \
        va_end(list); \
    }

int open(const char *path, int flags, ...) { MODE(flags, flags) return open_at(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags, flags) return open_at(AT_FDCWD, path, flags, mode); }
int openat(int at, const char *path, int flags, ...) { MODE(flags, flags) return open_at(at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { MODE(flags, flags) return open_at(at, path, flags, mode); }
int __open_2(const char *path, int flags) { return open_at(AT_FDCWD, path, flags, 0); }
int __open64_2(const char *path, int flags) { return open_at(AT_FDCWD, path, flags, 0); }
int creat(const char *path, mode_t mode) { return open_at(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

int close(int fd) {
    begin();
    if (is_tracked(fd)) record('C', 0, fd, 0, "", 0, "", 0);
    if (fd >= 0 && fd < MOST_FDS) tracked[fd] = 0;
    long result = syscall(SYS_close, fd);
    return (int)end(result, result < 0 ? errno : 0);
}

static int doubled(int fd, long result) {
    if (result >= 0 && result < MOST_FDS) {
        tracked[result] = (unsigned char)is_tracked(fd);
        if (tracked[result]) record('D', 0, fd, result, "", 0, "", 0);
    }
    return (int)end(result, result < 0 ? errno : 0);
}

int dup(int fd) { begin(); return doubled(fd, syscall(SYS_dup, fd)); }
int dup3(int fd, int new, int flags) { begin(); return doubled(fd, syscall(SYS_dup3, fd, new, flags)); }
int dup2(int fd, int new) {
    if (fd == new) return fd;
    return dup3(fd, new, 0);
}

static ssize_t write_at(int fd, const void *data, size_t size, off_t offset, int here) {
    begin();
    int ours = is_tracked(fd), error = ours ? fault(1, 1) : 0;
    if (error > 0) return end(-1, error);
    if (error < 0 && size > 1) size /= 2;
    if (ours && here) offset = syscall(SYS_lseek, fd, 0, SEEK_CUR);
    long result = here ? syscall(SYS_write, fd, data, size) : syscall(SYS_pwrite64, fd, data, size, offset);
    error = errno;
    if (ours && result > 0) record('W', 0, fd, offset, data, (size_t)result, "", 0);
    return end(result, result < 0 ? error : 0);
}

ssize_t write(int fd, const void *data, size_t size) { return write_at(fd, data, size, 0, 1); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) { return write_at(fd, data, size, offset, 0); }
ssize_t pwrite64(int fd, const void *data, size_t size, off_t offset) { return write_at(fd, data, size, offset, 0); }

/* What is copied inside the kernel could not be recorded: the caller does it the long way. */
static ssize_t refused(void) { errno = EINVAL; return -1; }
ssize_t sendfile(int out, int in, off_t *offset, size_t size) { return is_tracked(out) ? refused() : syscall(SYS_sendfile, out, in, offset, size); }
ssize_t sendfile64(int out, int in, off_t *offset, size_t size) { return is_tracked(out) ? refused() : syscall(SYS_sendfile, out, in, offset, size); }
ssize_t copy_file_range(int in, off_t *from, int out, off_t *to, size_t size, unsigned flags) {
    return is_tracked(out) ? refused() : syscall(SYS_copy_file_range, in, from, out, to, size, flags);
}

static int sync_fd(int fd, long call) {
    begin();
    int ours = is_tracked(fd), error = ours ? fault(0, 0) : 0;
    if (error) {
        record('S', error, fd, 0, "", 0, "", 0);
        return (int)end(-1, error);
    }
    long result = ours ? 0 : syscall(call, fd); /* nothing needs to reach a real disk here */
    if (ours) record('S', 0, fd, 0, "", 0, "", 0);
    return (int)end(result, result < 0 ? errno : 0);
}

int fsync(int fd) { return sync_fd(fd, SYS_fsync); }
int fdatasync(int fd) { return sync_fd(fd, SYS_fdatasync); }

int ftruncate(int fd, off_t size) {
    begin();
    int ours = is_tracked(fd), error = ours ? fault(0, 0) : 0;
    if (error) return (int)end(-1, error);
    long result = syscall(SYS_ftruncate, fd, size);
    if (ours && !result) record('T', 0, fd, size, "", 0, "", 0);
    return (int)end(result, result < 0 ? errno : 0);
}
int ftruncate64(int fd, off_t size) { return ftruncate(fd, size); }

static int rename_at(int from, const char *old, int to, const char *new, unsigned flags) {
    char old_whole[PATH_MAX], new_whole[PATH_MAX];
    begin();
    int ours = resolve(from, old, old_whole) | resolve(to, new, new_whole), error = ours ? fault(0, 0) : 0;
    if (error) return (int)end(-1, error);
    long result = syscall(SYS_renameat2, from, old, to, new, flags);
    if (ours && !result) record('R', 0, -1, 0, old_whole, strlen(old_whole), new_whole, strlen(new_whole));
    return (int)end(result, result < 0 ? errno : 0);
}

int rename(const char *old, const char *new) { return rename_at(AT_FDCWD, old, AT_FDCWD, new, 0); }
int renameat(int from, const char *old, int to, const char *new) { return rename_at(from, old, to, new, 0); }
int renameat2(int from, const char *old, int to, const char *new, unsigned flags) { return rename_at(from, old, to, new, flags); }

static int unlink_at(int at, const char *path, int flags) {
    char whole[PATH_MAX];
    begin();
    int ours = resolve(at, path, whole), error = 0;
    if (ours && !syscall(SYS_faccessat, at, path, F_OK)) error = fault(0, 0);
    if (error) return (int)end(-1, error);
    long result = syscall(SYS_unlinkat, at, path, flags);
    if (ours && !result) record(flags & AT_REMOVEDIR ? 'X' : 'U', 0, -1, 0, whole, strlen(whole), "", 0);
    return (int)end(result, result < 0 ? errno : 0);
}

int unlink(const char *path) { return unlink_at(AT_FDCWD, path, 0); }
int unlinkat(int at, const char *path, int flags) { return unlink_at(at, path, flags); }
int rmdir(const char *path) { return unlink_at(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdirat(int at, const char *path, mode_t mode) {
    char whole[PATH_MAX];
    begin();
    int ours = resolve(at, path, whole), error = 0;
    if (ours && syscall(SYS_faccessat, at, path, F_OK)) error = fault(1, 0);
    if (error) return (int)end(-1, error);
    long result = syscall(SYS_mkdirat, at, path, mode);
    if (ours && !result) record('M', 0, -1, 0, whole, strlen(whole), "", 0);
    return (int)end(result, result < 0 ? errno : 0);
}

int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }
