package conditions

import (
	"errors"
	"testing"
	"testing/fstest"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
)

func files(kv ...string) fstest.MapFS {
	root := fstest.MapFS{}
	for i := 0; i < len(kv); i += 2 {
		root[kv[i]] = &fstest.MapFile{Data: []byte(kv[i+1])}
	}
	return root
}

func TestMeasure(t *testing.T) {
	root := files("proc/loadavg", "3.25 1.00 0.50 2/300 4242\n",
		"proc/meminfo", "MemTotal:       16000000 kB\nMemFree:          100000 kB\nMemAvailable:    2097152 kB\n",
		"proc/pressure/cpu", "some avg10=12.50 avg60=1.00 avg300=0.00 total=1\n",
		"proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\nfull avg10=9.00 avg60=0.00 avg300=0.00 total=1\n",
		"sys/class/power_supply/BAT0/type", "Battery\n", "sys/class/power_supply/BAT0/status", "Discharging\n",
		"sys/class/power_supply/AC/type", "Mains\n", "sys/class/power_supply/AC/online", "0\n")
	free := func(path string) (int64, error) {
		if path == "/gone" {
			return 0, errors.New("No such file or directory")
		}
		return 5 << 30, nil
	}
	for _, tt := range []struct {
		name string
		c    option.Conditions
		want event.Unmet
	}{
		{"all hold", option.Conditions{Load: 3.26, Memory: 2 << 30, Disks: []option.Space{{Bytes: 5 << 30, Path: "/srv"}}, Pressure: option.Pressure{CPU: 13, IO: 0.1}}, event.Unmet{}},
		{"load", option.Conditions{Load: 3.25}, event.Unmet{Options: "load", Detail: "load is 3.25, and must be below 3.25"}},
		{"skip", option.Conditions{Load: 1, Skip: true}, event.Unmet{Options: "load", Detail: "load is 3.25, and must be below 1", Skip: true}},
		{"memory", option.Conditions{Memory: 3 << 30}, event.Unmet{Options: "need-memory", Detail: "free memory is 2.00G, and must be 3.00G"}},
		{"pressure", option.Conditions{Pressure: option.Pressure{CPU: 12}}, event.Unmet{Options: "pressure", Detail: "pressure of cpu is 12.5 %, and must be below 12 %"}},
		{"disks", option.Conditions{Disks: []option.Space{{Bytes: 6 << 30, Path: "/srv"}, {Bytes: 1, Path: "/gone"}}},
			event.Unmet{Options: "need-disk", Detail: "free space in /srv is 5.00G, and must be 6.00G; free space in /gone is not known: No such file or directory"}},
		{"battery", option.Conditions{Battery: option.BatteryWait}, event.Unmet{Options: "on-battery", Detail: "the host runs on battery"}},
		{"battery skips", option.Conditions{Battery: option.BatterySkip}, event.Unmet{Options: "on-battery", Detail: "the host runs on battery", Skip: true}},
		{"not measured", option.Conditions{Pressure: option.Pressure{Memory: 1}}, event.Unmet{Options: "pressure",
			Detail: "pressure of memory is not known: open proc/pressure/memory: file does not exist"}},
	} {
		got := measure(root, &tt.c, free)
		if got.Detail = job.Text(got.Detail.Words()); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestOnBattery(t *testing.T) {
	const dir = "sys/class/power_supply/"
	for _, tt := range []struct {
		name string
		kv   []string
		want bool
	}{
		{"no power supplies", nil, false},
		{"charging", []string{dir + "BAT0/type", "Battery", dir + "BAT0/status", "Charging"}, false},
		{"discharging beside mains", []string{dir + "ADP/online", "1", dir + "BAT0/type", "Battery", dir + "BAT0/status", "Discharging"}, false},
		{"a mouse", []string{dir + "hid/type", "Battery", dir + "hid/scope", "Device", dir + "hid/status", "Discharging"}, false},
		{"discharging", []string{dir + "ADP/online", "0", dir + "BAT0/type", "Battery", dir + "BAT0/status", "Discharging"}, true},
	} {
		if got := onBattery(files(tt.kv...)); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
}

// TestUnfit: an entry is held if the kernel does not measure pressure.
func TestUnfit(t *testing.T) {
	o := &option.Options{Conditions: &option.Conditions{Pressure: option.Pressure{IO: 5}}}
	if got := unfit(files(), o); got == "" {
		t.Error("got nothing for a kernel that does not measure pressure")
	}
	if got := unfit(files("proc/pressure/io", ""), o); got != "" {
		t.Errorf("got %q", got)
	}
	if got := unfit(files(), &option.Options{Conditions: &option.Conditions{Load: 1}}); got != "" {
		t.Errorf("got %q for an entry that needs no pressure", got)
	}
}

func FuzzBytes(f *testing.F) {
	f.Add("1 2")
	f.Add("9223372036854775807 4096")
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := bytesOf(text); n < 0 || err != nil && n != 0 {
			t.Errorf("%q: got %d, %v", text, n, err)
		}
	})
}
