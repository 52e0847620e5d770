// Package watchfiles owns the detection of files that arrive for jobs with on=file:.
//
// One process for each user watches the user's directories, with the rights of that user. It notices
// only files that the user can see, the kernel's limits of inotify count for the user, and a file
// system that never answers blocks only this process. The daemon sends orders to it over a socket,
// and it sends reports back. Both are lines of JSON.
//
// A user can stop, kill and trace their process, so the daemon does not trust its reports. A false
// report starts a job of that user, and the user could start it anyway. The length and the rate of
// reports are limited. Each process has a goroutine of its own in the daemon. If a process ends, it
// is started again after a pause, which grows each time.
//
// A file arrives when it is created, moved into place, or closed after it was written, and then is
// quiet for a second. The files of a job that arrive together are one burst. If events were lost,
// and at each start of the process, the time of the last change of each file (ctime) determines
// whether it has arrived since.
//
// Changes that other hosts make on a network file system are not noticed: inotify(7) does not
// report them.
package watchfiles
