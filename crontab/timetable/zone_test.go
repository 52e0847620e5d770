package timetable

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const zoneDir = "../../testdata/tz"

// zoneFile loads one compiled zone; form is slim or fat.
func zoneFile(t testing.TB, form, name string) *time.Location {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(zoneDir, form, name))
	if err != nil {
		t.Fatal(err)
	}
	loc, err := time.LoadLocationFromTZData(name, data)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// zoneFiles loads both forms of a zone, by form.
func zoneFiles(t testing.TB, name string) map[string]*time.Location {
	t.Helper()
	return map[string]*time.Location{"slim": zoneFile(t, "slim", name), "fat": zoneFile(t, "fat", name)}
}

// zoneNames lists the zones that have files.
func zoneNames(t testing.TB) []string {
	t.Helper()
	var names []string
	root := filepath.Join(zoneDir, "slim")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, strings.TrimPrefix(path, root+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestZoneHasEveryChange compares the table with a scan of Time.Zone, in both
// forms of each zone, up to the end of the table.
func TestZoneHasEveryChange(t *testing.T) {
	for _, name := range zoneNames(t) {
		for form, loc := range zoneFiles(t, name) {
			z := NewZone(loc)
			for _, years := range [][2]int{{1970, 2045}, {2080, 2090}, {2190, LastYear + 1}} {
				from := time.Date(years[0], 1, 1, 0, 0, 0, 0, time.UTC)
				until := time.Date(years[1], 1, 1, 0, 0, 0, 0, time.UTC)
				var got []int64
				for _, c := range z.Changes(from, until) {
					got = append(got, c.At.Unix())
					if c.Before == c.After || int64(c.Before) != bruteOffset(loc, c.At.Unix()-1) || int64(c.After) != bruteOffset(loc, c.At.Unix()) {
						t.Errorf("%s (%s): wrong offsets in %+v", name, form, c)
					}
				}
				if want := bruteChanges(loc, from.Unix(), until.Unix()); !slices.Equal(got, want) {
					t.Errorf("%s (%s) %d to %d:\n got %s\nwant %s", name, form, years[0], years[1], instants(got), instants(want))
				}
			}
		}
	}
}

// TestZoneOnLastDayOfLeapYears is about golang/go#81583: on 31 December of leap years
// ZoneBounds of a slim file ends before the instant that it is asked about.
func TestZoneOnLastDayOfLeapYears(t *testing.T) {
	for _, name := range zoneNames(t) {
		for form, loc := range zoneFiles(t, name) {
			s := mustSchedule(t, "0 * 31 12 *", NewZone(loc))
			for year := 1972; year <= LastYear; year += 4 {
				noon := time.Date(year, 12, 31, 12, 0, 0, 0, loc)
				got := s.Next(noon.Add(-time.Second))
				if !got.Equal(noon) {
					t.Fatalf("%s (%s): got %s, want %s", name, form, got, noon)
				}
			}
		}
	}
}

// TestZoneSlimEqualsFat also shows that an explicit list until 2037 and a rule
// come to the same table.
func TestZoneSlimEqualsFat(t *testing.T) {
	for _, name := range zoneNames(t) {
		if name == "Asia/Gaza" {
			continue // zic 2.36 leaves out half of its changes from 2073 on in slim files
		}
		slim, fat := NewZone(zoneFile(t, "slim", name)), NewZone(zoneFile(t, "fat", name))
		if !slices.Equal(slim.spans, fat.spans) {
			t.Errorf("%s: %d spans from the slim file, %d from the fat one", name, len(slim.spans), len(fat.spans))
		}
	}
}

func TestZoneChangesNames(t *testing.T) {
	z := NewZone(zoneFile(t, "slim", "Europe/London"))
	got := z.Changes(utc(t, "2026-03-29 01:00"), utc(t, "2026-10-25 01:00"))
	if len(got) != 1 {
		t.Fatalf("got %+v, want one change: the end is excluded", got)
	}
	c := got[0]
	if c.Before != 0 || c.After != 3600 || !c.At.Equal(utc(t, "2026-03-29 01:00")) {
		t.Errorf("got %+v, want the begin of BST", c)
	}
	if z.String() != "Europe/London" || z.Location().String() != "Europe/London" {
		t.Errorf("got %s in %s, want Europe/London", z, z.Location())
	}
}

func TestZoneNilIsUTC(t *testing.T) {
	z := NewZone(nil)
	if z.Location() != time.UTC || z.Changes(time.Unix(0, 0), time.Unix(lastSecond, 0)) != nil {
		t.Errorf("got %s with changes, want UTC without", z)
	}
}

// TestNextWithOddZones has zones that no file has.
func TestNextWithOddZones(t *testing.T) {
	for _, loc := range []*time.Location{
		time.FixedZone("ahead", 14*3600+59), time.FixedZone("behind", -12*3600-1), time.FixedZone("", 30),
	} {
		s := mustSchedule(t, "0 0 * * *", NewZone(loc))
		for _, from := range []time.Time{{}, time.Unix(-1e9, 0), time.Unix(0, 0), benchStart, time.Unix(lastSecond-1e6, 0)} {
			from = from.Add(48 * time.Hour).In(loc)
			want := time.Date(from.Year(), from.Month(), from.Day()+1, 0, 0, 0, 0, loc)
			if got := s.Next(from); !got.Equal(want) {
				t.Errorf("%q: got %s, want %s", loc, got, want)
			}
		}
	}
}
