package daemon

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/job"
)

// BenchmarkStartsBesideEvents emits 1,000 events a second at the listener, with 60 tokens, for a job
// that is active and skips them: how much later a job of each second starts meanwhile, and how many
// events were accepted. The goal is 10 ms.
func BenchmarkStartsBesideEvents(b *testing.B) {
	const tokens, perSecond, seconds = 60, 1000, 10
	h := newTestHost(b)
	config := strings.Builder{}
	config.WriteString("[listen]\naddress = \"127.0.0.1:0\"\n")
	secret := func(n int) string { return fmt.Sprintf("secret-of-token-%010d", n) }
	for n := range tokens {
		fmt.Fprintf(&config, "[token.t%d]\nfile = \"t%d\"\nallow = [\"emit:data\"]\n", n, n)
		h.secretFile(fmt.Sprintf("etc/cronring/t%d", n), secret(n))
	}
	h.configure(config.String())
	h.write("etc/cron.d/a", "#@ name=import on=event:data overlap=skip\n0 0 31 2 * root sleep 600\n#@ name=tick every=1s keep=1000\n* * * * * root true\n")
	_, address, _ := strings.Cut(h.startListening("msg=listening"), "address=")
	h.run("import")
	for b.Loop() {
		quiet := h.delays("tick", seconds)
		accepted := emitFor(b, "http://"+address+"/v1/emit/data", secret, tokens, perSecond*seconds, seconds*time.Second)
		busy := h.delays("tick", seconds)
		if n := <-accepted; n < perSecond*seconds*9/10 {
			b.Errorf("only %d of %d events were accepted", n, perSecond*seconds)
		}
		for name, at := range map[string]int{"median": seconds / 2, "worst": seconds - 1} {
			b.ReportMetric(float64((busy[at]-quiet[at]).Microseconds())/1000, "ms-later-"+name)
		}
	}
	h.kill()
}

// BenchmarkStartsBesideFiles lets 100 files a second arrive in 10,000 watched directories, for a job that
// is active and skips them: how much later a job of each second starts meanwhile. The goal is 10 ms.
func BenchmarkStartsBesideFiles(b *testing.B) {
	const dirs, perSecond, seconds = 10_000, 100, 10
	h := newTestHost(b)
	in := b.TempDir()
	for n := range dirs {
		if err := os.Mkdir(fmt.Sprintf("%s/%d", in, n), 0o755); err != nil {
			b.Fatal(err)
		}
	}
	h.write("etc/cron.d/a", "#@ name=import on=file:"+in+"/*/*.csv overlap=skip\n0 0 31 2 * root sleep 600\n#@ name=tick every=1s keep=1000\n* * * * * root true\n")
	h.start()
	h.run("import")
	w := h.watch()
	filetest.Write(b, in+"/0/first.csv", "", 0o644) // and the watches are complete
	w.await("the first file is skipped", func(r job.Record) bool { return r.Kind == job.Decided && r.Job == "import" })
	for b.Loop() {
		quiet := h.delays("tick", seconds)
		arrived := make(chan error, 1)
		go func() {
			var failed error
			for begin, n := time.Now(), 0; n < perSecond*seconds && failed == nil; n++ {
				time.Sleep(time.Until(begin.Add(time.Second * time.Duration(n) / perSecond)))
				failed = os.WriteFile(fmt.Sprintf("%s/%d/%d.csv", in, n*97%dirs, time.Now().UnixNano()), nil, 0o644)
			}
			arrived <- failed
		}()
		busy := h.delays("tick", seconds)
		if err := <-arrived; err != nil {
			b.Fatal(err)
		}
		for name, at := range map[string]int{"median": seconds / 2, "worst": seconds - 1} {
			b.ReportMetric(float64((busy[at]-quiet[at]).Microseconds())/1000, "ms-later-"+name)
		}
	}
	h.kill()
}

// delays returns how late the next n runs of a job started, in order of the delays.
func (h *testHost) delays(name string, n int) []time.Duration {
	h.t.Helper()
	w := h.watch()
	var late []time.Duration
	for len(late) < n {
		r := w.await(name+" starts", func(r job.Record) bool { return r.Kind == job.Started && string(r.Job) == name }).Run
		late = append(late, r.Started.Sub(r.Due))
	}
	slices.Sort(late)
	return late
}

// emitFor sends n events, evenly over a time, and reports how many were accepted.
func emitFor(b *testing.B, url string, secret func(int) string, tokens, n int, during time.Duration) <-chan int {
	accepted := make(chan int, 1)
	go func() {
		const senders = 8
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: senders}}
		defer client.CloseIdleConnections()
		var mu sync.Mutex
		var done sync.WaitGroup
		count, begin := 0, time.Now()
		for s := range senders {
			done.Go(func() {
				for i := s; i < n; i += senders {
					time.Sleep(time.Until(begin.Add(during * time.Duration(i) / time.Duration(n))))
					r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, nil)
					if err != nil {
						continue
					}
					r.Header.Set("Authorization", "Bearer "+secret(i%tokens))
					if response, err := client.Do(r); err == nil {
						response.Body.Close()
						if response.StatusCode == http.StatusAccepted {
							mu.Lock()
							count++
							mu.Unlock()
						}
					}
				}
			})
		}
		done.Wait()
		accepted <- count
	}()
	return accepted
}
