// Package watchfiles owns noticing that files have arrived for jobs with on=file:.
//
// One process for each user looks at the user's directories, as that user: it notices nothing that
// the user must not see, the kernel's limits of inotify count for the user, and a file system that
// never answers stops this process alone. The daemon sends it an order over a socket, and it sends
// reports back. Both are lines of JSON.
//
// A user can stop, kill and trace their process, so the daemon trusts none of its reports: a false
// one starts a job of that user, which the user could start anyway. The length and the rate of
// reports are limited, each process has a goroutine of its own, and one that ends is started again
// after a pause, which grows.
//
// A file arrives when it is created, moved into place, or closed after it was written, and then is
// quiet for a second. The files of a job that arrive together are one burst. If events were lost,
// and at each start of the process, the time of the last change of each file (ctime) determines
// whether it has arrived since.
//
// Changes that other hosts make on a network file system are not noticed: inotify(7) does not
// report them.
package watchfiles
