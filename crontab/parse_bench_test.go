package crontab

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/timetable"
)

// fieldLines is n lines of time fields as real crontabs mix them: many minutes,
// few shapes.
func fieldLines(n int) []string {
	random := rand.New(rand.NewPCG(1, 2))
	shapes := []func() string{
		func() string { return fmt.Sprintf("%d %d * * *", random.IntN(60), random.IntN(24)) },
		func() string { return fmt.Sprintf("*/%d * * * *", 1+random.IntN(30)) },
		func() string { return fmt.Sprintf("%d * * * *", random.IntN(60)) },
		func() string { return fmt.Sprintf("%d %d * * 1-5", random.IntN(60), random.IntN(24)) },
		func() string { return fmt.Sprintf("%d %d %d * *", random.IntN(60), random.IntN(24), 1+random.IntN(28)) },
		func() string {
			return fmt.Sprintf("%d,%d 8-18/2 * jan-jun mon,wed,fri", random.IntN(30), 30+random.IntN(30))
		},
	}
	lines := make([]string, n)
	for i := range lines {
		lines[i] = shapes[random.IntN(len(shapes))]()
	}
	return lines
}

// BenchmarkParse reads the same time fields as cronring and as robfig/cron do.
// The first reads whole lines with commands, and shares what repeats; fields
// alone, with nothing shared, are the second.
func BenchmarkParse(b *testing.B) {
	specs := fieldLines(10_000)
	var text strings.Builder
	for _, spec := range specs {
		text.WriteString(spec + " /usr/local/bin/job --quiet\n")
	}
	perLine := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(specs)), "ns/line")
	}
	b.Run("lines", func(b *testing.B) {
		b.SetBytes(int64(text.Len()))
		for b.Loop() {
			if file, _ := Parse("bench", text.String(), Config{}); len(file.Entries) != len(specs) {
				b.Fatalf("got %d entries, want %d", len(file.Entries), len(specs))
			}
		}
		perLine(b)
	})
	b.Run("fields", func(b *testing.B) {
		report := func(int, int, diagnostic.Code, string, string) {}
		for b.Loop() {
			for _, spec := range specs {
				if _, _, ok := timetable.ParseFields(spec, 0, 0, report); !ok {
					b.Fatal(spec)
				}
			}
		}
		perLine(b)
	})
	b.Run("robfig", func(b *testing.B) {
		for b.Loop() {
			for _, spec := range specs {
				if _, err := cron.ParseStandard(spec); err != nil {
					b.Fatal(err)
				}
			}
		}
		perLine(b)
	})
}

// BenchmarkLoad100k reads a system crontab of 100,000 mixed lines.
func BenchmarkLoad100k(b *testing.B) {
	const lines = 100_000
	specs := fieldLines(lines)
	var text strings.Builder
	text.WriteString("SHELL=/bin/sh\nPATH=/usr/bin:/bin\n")
	for i := 2; i < lines; i++ {
		switch {
		case i%100 == 0:
			text.WriteString("# a remark of the people who run this host\n")
		case i%100 == 1:
			fmt.Fprintf(&text, "MAILTO=team%d\n", i%1000)
		case i%100 == 2:
			fmt.Fprintf(&text, "#@ name=job-%d overlap=skip timeout=5m\n", i)
		default:
			fmt.Fprintf(&text, "%s root /usr/local/bin/job --id %d >/dev/null 2>&1\n", specs[i], i)
		}
	}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		file, diagnostics := Parse("bench", text.String(), Config{Format: System})
		for _, d := range diagnostics {
			if d.Severity == diagnostic.Error && d.Code != "B305" { // steps such as */7 give more warnings than Parse keeps
				b.Fatal(d)
			}
		}
		if len(file.Entries) < lines*9/10 {
			b.Fatalf("got %d entries", len(file.Entries))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/lines, "ns/line")
}
