package timetable

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
)

// mustDays returns a filter from the values of options, "" for none. Weeks are
// counted from Wednesday, 7 January 2026.
func mustDays(t testing.TB, day, years string, weeks int) (d Days) {
	t.Helper()
	var err, also error
	if day != "" {
		d.Rule, err = ParseDayRule(day)
	}
	if years != "" {
		d.Years, also = ParseYears(years)
	}
	if weeks > 0 {
		d.Weeks, d.Since = weeks, DayOf(time.Date(2026, 1, 7, 0, 0, 0, 0, time.UTC), nil)
	}
	if err != nil || also != nil {
		t.Fatal(err, also)
	}
	return d
}

func TestDays(t *testing.T) {
	for _, test := range []struct {
		spec, day, years string
		weeks            int
		want             string
	}{
		{"0 9 * * *", "last", "", 0, "[26-01-31 26-02-28 26-03-31 26-04-30]"},
		{"0 9 * 2 *", "last", "", 0, "[26-02-28 27-02-28 28-02-29 29-02-28]"},
		{"@monthly", "last", "", 0, "[]"},
		{"@daily", "last", "", 0, "[26-01-31 26-02-28 26-03-31 26-04-30]"},
		{"0 9 28-31 * *", "last", "2027", 0, "[2027-01-31 2027-02-28 2027-03-31 2027-04-30]"},
		{"0 9 * * *", "L-3", "", 0, "[26-01-28 26-02-25 26-03-28 26-04-27]"},
		{"0 9 * * *", "l-30", "", 0, "[26-01-01 26-03-01 26-05-01 26-07-01]"},
		{"0 9 * * *", "first-workday", "", 0, "[26-01-01 26-02-02 26-03-02 26-04-01]"},
		{"0 9 * * *", "last-workday", "", 0, "[26-01-30 26-02-27 26-03-31 26-04-30]"},
		{"0 9 1-6 * *", "workday", "", 0, "[26-01-01 26-01-02 26-01-05 26-01-06]"},
		{"0 9 * * *", "15W", "", 0, "[26-01-15 26-02-16 26-03-16 26-04-15]"},
		{"0 9 * 8 *", "1W", "", 0, "[26-08-03 27-08-02 28-08-01 29-08-01]"},
		{"0 9 * 5 *", "31W", "", 0, "[26-05-29 27-05-31 28-05-31 29-05-31]"},
		{"0 9 * * *", "31W", "", 0, "[26-01-30 26-03-31 26-05-29 26-07-31]"},
		{"0 9 * * *", "mon#2", "", 0, "[26-01-12 26-02-09 26-03-09 26-04-13]"},
		{"0 9 * * *", "Mon#5", "", 0, "[26-03-30 26-06-29 26-08-31 26-11-30]"},
		{"0 9 29 2 *", "mon#5", "", 0, "[44-02-29 72-02-29 12-02-29 40-02-29]"},
		{"0 9 * * *", "fri#last", "", 0, "[26-01-30 26-02-27 26-03-27 26-04-24]"},
		{"0 9 * * *", "last,15W,mon#1", "", 0, "[26-01-05 26-01-15 26-01-31 26-02-02]"},
		{"0 9 * * 1", "workday", "", 0, "[26-01-05 26-01-12 26-01-19 26-01-26]"},
		{"0 9 * * 6,0", "workday", "", 0, "[]"},
		{"0 9 1-7 * *", "last", "", 0, "[]"},
		{"0 9 1 1 *", "", "2027-2028,2099,2199", 0, "[2027-01-01 2028-01-01 2099-01-01 2199-01-01]"},
		{"0 9 1 1 *", "", "1999", 0, "[]"},
		{"0 9 * * mon", "", "", 2, "[26-01-05 26-01-19 26-02-02 26-02-16]"},
		{"0 9 * * sun", "", "", 2, "[26-01-11 26-01-25 26-02-08 26-02-22]"},
		{"0 9 * * mon,sun", "", "2030", 3, "[2030-01-14 2030-01-20 2030-02-04 2030-02-10]"},
		{"0 9 * * *", "mon#5", "2099", 2, "[2099-06-29 2099-11-30]"},
	} {
		s := mustSchedule(t, test.spec, nil).on(mustDays(t, test.day, test.years, test.weeks))
		layout := "06-01-02"
		if test.years != "" {
			layout = "2006-01-02"
		}
		if got := occurrences(s, utc(t, "2026-01-01 00:00"), 4, layout); got != test.want {
			t.Errorf("%q day=%s year=%s weeks=%d: got %s, want %s", test.spec, test.day, test.years, test.weeks, got, test.want)
		}
		if never := test.want == "[]" && test.years != "1999"; s.Never() != never || NoDay(s) != never {
			t.Errorf("%q day=%s: got never %v, no day %v", test.spec, test.day, s.Never(), NoDay(s))
		}
	}
}

func TestDaysAreRead(t *testing.T) {
	for _, text := range []string{"", "first", "L-0", "L-31", "L-03", "0W", "32W", "w", "015W", "mon", "mon#0", "mon#6", "monday#1", "#1", "mon#", "last,", "day=last", "L-99999999999999999999"} {
		if r, err := ParseDayRule(text); err == nil {
			t.Errorf("day=%s: got %s, want an error", text, r.String())
		}
	}
	for _, text := range []string{"", "27", "1969", "2200", "2030-2027", "2027-", "2027,", "*", "20 27", "02027", "-2027"} {
		if y, err := ParseYears(text); err == nil {
			t.Errorf("year=%s: got %s, want an error", text, y.String())
		}
	}
	for _, test := range []struct{ day, years, text, words string }{
		{"workday", "", " day=workday", " on workdays (Monday to Friday)"},
		{"LAST-workday,15w,L-3,Fri#LAST,last,mon#2,first-workday", "", " day=first-workday,last-workday,L-3,last,15W,mon#2,fri#last",
			" on the first workday of the month or the last workday of the month or the day 3 days before the last of the month or the last day of the month" +
				" or the workday nearest to day 15 or the 2nd Monday of the month or the last Friday of the month"},
		{"L-1", "2199,1970,2027-2029,2028", " day=L-1 year=1970,2027-2029,2199", " on the day 1 day before the last of the month in 1970, 2027 to 2029 and 2199"},
	} {
		d := mustDays(t, test.day, test.years, 0)
		if d.String() != test.text || d.describe() != test.words {
			t.Errorf("%s %s:\n got %s,%s\nwant %s,%s", test.day, test.years, d.String(), d.describe(), test.text, test.words)
		}
	}
}

func TestDaysAreDescribed(t *testing.T) {
	last := mustDays(t, "last", "", 0)
	for _, test := range []struct {
		schedule cron.Schedule
		want     string
	}{
		{mustSchedule(t, "0 9 * * *", nil).on(last), "at 09:00 on the last day of the month"},
		{mustSchedule(t, "0 9 28-31 1 *", nil).on(last), "at 09:00 on days 28 to 31 in January, but only on the last day of the month"},
		{mustSchedule(t, "*/5 * * * *", nil).on(last), "every 5 minutes on the last day of the month"},
		{mustSchedule(t, "0 9 * * *", nil).on(mustDays(t, "", "2027", 0)), "at 09:00 every day in 2027"},
		{mustSchedule(t, "0 9 * * 1", nil).on(mustDays(t, "", "", 2)), "at 09:00 on Monday, but only in every 2nd week from that of 2026-01-07"},
		{mustSchedule(t, "0 9 1 * *", nil).on(last), "never"},
		{On(Every(time.Hour, 0), last, NewZone(nil)), "every hour on the last day of the month"},
	} {
		if got := Describe(test.schedule); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

// mustDates returns dates from ranges such as 2026-12-24..2026-12-26.
func mustDates(t testing.TB, name, text string) *Dates {
	t.Helper()
	var ranges []DateRange
	for item := range strings.FieldsSeq(text) {
		from, to, ranged := strings.Cut(item, "..")
		if !ranged {
			to = from
		}
		first, err := ParseDay(from)
		last, also := ParseDay(to)
		if err != nil || also != nil {
			t.Fatal(err, also)
		}
		ranges = append(ranges, DateRange{first, last})
	}
	return NewDates(name, ranges)
}

func TestCalendars(t *testing.T) {
	holidays := mustDates(t, "holidays", "2026-01-01 2026-12-24..2027-01-03 2025-12-25 2026-05-29")
	for _, test := range []struct {
		spec, day    string
		only, except *Dates
		shift        Shift
		want         string
	}{
		{"0 9 * * *", "", holidays, nil, ShiftNone, "[26-01-01 26-05-29 26-12-24 26-12-25 26-12-26]"},
		{"0 9 1 * *", "", nil, holidays, ShiftNone, "[26-02-01 26-03-01 26-04-01 26-05-01 26-06-01]"},
		{"0 9 1 1,2 *", "", nil, holidays, ShiftNext, "[26-01-02 26-02-01 27-01-04 27-02-01 28-01-01]"},
		{"0 9 1 1,2 *", "", nil, holidays, ShiftPrev, "[26-02-01 26-12-23 27-02-01 28-01-01 28-02-01]"},
		{"0 9 1 1,2 *", "", nil, Union(holidays, Weekends()), ShiftNext, "[26-01-02 26-02-02 27-01-04 27-02-01 28-01-03]"},
		{"0 9 25-31 * *", "last-workday", nil, holidays, ShiftPrev, "[26-01-30 26-02-27 26-03-31 26-04-30 26-05-28]"},
		{"0 9 * 5 fri", "", nil, holidays, ShiftNext, "[26-05-01 26-05-08 26-05-15 26-05-22 26-06-01]"},
		{"0 9 * 5 */5", "", nil, holidays, ShiftNext, "[26-05-01 26-05-03 26-05-08 26-05-10 26-05-15]"},
		{"0 9 24-28 12 *", "", nil, holidays, ShiftNext, "[27-01-04 27-12-24 27-12-25 27-12-26 27-12-27]"},
		{"0 9 * * *", "", Weekends(), holidays, ShiftNone, "[26-01-03 26-01-04 26-01-10 26-01-11 26-01-17]"},
		{"0 9 1 3 *", "", nil, mustDates(t, "long", "2026-02-15..2026-03-29"), ShiftNext, "[27-03-01 28-03-01 29-03-01 30-03-01 31-03-01]"},
		{"0 9 1 3 *", "", nil, mustDates(t, "less", "2026-02-15..2026-03-28"), ShiftNext, "[26-03-29 27-03-01 28-03-01 29-03-01 30-03-01]"},
		{"0 9 * * 1-5", "", Weekends(), nil, ShiftNone, "[]"},
	} {
		d := mustDays(t, test.day, "", 0)
		d.Only, d.Except, d.Shift = test.only, test.except, test.shift
		s := mustSchedule(t, test.spec, nil).on(d)
		if got := occurrences(s, utc(t, "2026-01-01 00:00"), 5, "06-01-02"); got != test.want {
			t.Errorf("%q%s: got %s, want %s", test.spec, d.String(), got, test.want)
		}
	}
}

// TestShiftEqualsBruteForce moves each day by hand.
func TestShiftEqualsBruteForce(t *testing.T) {
	seed, _ := bruteSettings(t)
	r := rand.New(rand.NewPCG(seed, 4))
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for range 200 {
		var ranges []DateRange
		excluded := map[string]bool{}
		for range 1 + r.IntN(12) {
			first := DayOf(start, nil) + Day(r.IntN(500)-60)
			last := first + Day(r.IntN(40)*r.IntN(2))
			ranges = append(ranges, DateRange{first, last})
			for day := first; day <= last; day++ {
				excluded[day.String()] = true
			}
		}
		day, _, weeks := randomDays(r, 2026)
		d := mustDays(t, day, "", weeks)
		plain := mustSchedule(t, "0 12 * * *", nil).on(d)
		workdays := d.Rule.isWorkdays()
		d.Except, d.Shift = NewDates("x", ranges), Shift(1+r.IntN(2))
		step := map[Shift]int{ShiftNext: 1, ShiftPrev: -1}[d.Shift]
		var want []time.Time
		for at := plain.Next(start.AddDate(0, 0, -60)); at.Before(start.AddDate(0, 0, 460)) && !at.IsZero(); at = plain.Next(at) {
			to := at
			for n := 0; n <= MaxShift; n++ {
				to = at.AddDate(0, 0, step*n)
				if !excluded[to.Format(time.DateOnly)] && (!workdays || to.Weekday()%6 != 0) {
					break
				}
				to = time.Time{}
			}
			if to.After(start) && to.Before(start.AddDate(1, 0, 0)) {
				want = append(want, to)
			}
		}
		slices.SortFunc(want, time.Time.Compare)
		want = slices.Compact(want)
		var got []time.Time
		s := mustSchedule(t, "0 12 * * *", nil).on(d)
		for at := s.Next(start); at.Before(start.AddDate(1, 0, 0)) && !at.IsZero(); at = s.Next(at) {
			got = append(got, at)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s of %v (CRONRING_SEED=%d):\n got %v\nwant %v", d.String(), ranges, seed, got, want)
		}
	}
}

func TestDatesAreSets(t *testing.T) {
	a, b := mustDates(t, "a", "2026-03-01 2026-02-28 1970-01-01"), mustDates(t, "b", "2026-02-27..2026-03-02 2199-12-31")
	if got, want := fmt.Sprint(Union(a, b).Ranges()), "[{1970-01-01 1970-01-01} {2026-02-27 2026-03-02} {2199-12-31 2199-12-31}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if weekends := Weekends().Ranges(); weekends[0].First.String() != "1970-01-03" || weekends[len(weekends)-1].Last.String() != "2199-12-29" {
		t.Errorf("weekends from %s to %s", weekends[0].First, weekends[len(weekends)-1].Last)
	}
	one, other := mustSchedule(t, "@daily", nil).on(Days{Except: a}), mustSchedule(t, "@daily", nil).on(Days{Except: mustDates(t, "a", "2026-03-01")})
	if Identity(one) == Identity(other) || Identity(one) != Identity(mustSchedule(t, "@daily", nil).on(Days{Except: mustDates(t, "a", "1970-01-01 2026-02-28..2026-03-01")})) {
		t.Error("the identity is not that of the dates")
	}
}

// TestSpacingOfDays holds that a filter never makes the limit of jitter= too high.
func TestSpacingOfDays(t *testing.T) {
	const day = 24 * time.Hour
	for _, test := range []struct {
		spec string
		days Days
		want time.Duration
	}{
		{"0 9 * * *", mustDays(t, "last", "", 0), 28 * day},
		{"0 9 * * *", mustDays(t, "mon#1", "", 0), 28 * day},
		{"0 9 * * *", mustDays(t, "workday", "2027", 0), day},
		{"0 9 * * 1", mustDays(t, "", "1999", 2), 7 * day},
		{"0 9 * * 1", Days{Except: Weekends()}, 7 * day},
		{"0 9 * * 1", Days{Except: Weekends(), Shift: ShiftNext}, day},
		{"0 9 29 2 *", mustDays(t, "sun#5", "", 0), 28*365*day + 7*day},
	} {
		if got := Spacing(mustSchedule(t, test.spec, nil).on(test.days)); got != test.want {
			t.Errorf("%q%s: got %s, want %s", test.spec, test.days.String(), got, test.want)
		}
	}
}

// TestDaysExclude holds the reason why a date is excluded to the filter.
func TestDaysExclude(t *testing.T) {
	d := mustDays(t, "mon#2", "2026", 2)
	for date, want := range map[string]string{
		"2026-03-09 00:00": "is not in weeks=2 of 2026-01-07", "2026-03-02 00:00": "is not in day=mon#2", "2027-03-08 00:00": "is not in year=2026", "2026-04-13 00:00": "", "2026-04-20 00:00": "is not in day=mon#2",
	} {
		if got := d.Excludes(DayOf(utc(t, date), nil)); got != want {
			t.Errorf("%s: got %q, want %q", date, got, want)
		}
	}
}

// bruteDays is the definition of a filter for one local date.
func bruteDays(day, years string, weeks int, date time.Time) bool {
	last := date.AddDate(0, 0, -date.Day()+1).AddDate(0, 1, -1)
	work := func(at time.Time) bool { return at.Weekday() != time.Saturday && at.Weekday() != time.Sunday }
	noWorkdayIn := func(from, to int) bool { // days of the month
		for n := from; n <= to; n++ {
			if work(date.AddDate(0, 0, n-date.Day())) {
				return false
			}
		}
		return true
	}
	match := day == ""
	for item := range strings.SplitSeq(day, ",") {
		n := 0
		name, which, _ := strings.Cut(item, "#")
		sameWeekday := strings.HasPrefix(strings.ToLower(date.Weekday().String()), name) && name != ""
		switch {
		case item == "last":
			match = match || date.Day() == last.Day()
		case item == "workday":
			match = match || work(date)
		case item == "first-workday":
			match = match || work(date) && noWorkdayIn(1, date.Day()-1)
		case item == "last-workday":
			match = match || work(date) && noWorkdayIn(date.Day()+1, last.Day())
		case which == "last":
			match = match || sameWeekday && date.Day()+7 > last.Day()
		case which != "":
			fmt.Sscan(which, &n)
			match = match || sameWeekday && (date.Day()-1)/7+1 == n
		case strings.HasPrefix(item, "L-"):
			fmt.Sscan(item[2:], &n)
			match = match || date.Day()+n == last.Day()
		case strings.HasSuffix(item, "W"):
			fmt.Sscan(item[:len(item)-1], &n)
			for distance := range 3 {
				at := n - date.Day()
				if at < 0 {
					at = -at
				}
				if n <= last.Day() && at == distance && work(date) && noWorkdayIn(max(1, n-distance+1), min(last.Day(), n+distance-1)) &&
					(date.Day() <= n || distance == 0 || n-distance < 1 || !work(date.AddDate(0, 0, -2*distance))) {
					match = true
				}
			}
		}
	}
	inYear := years == "" || slices.Contains(strings.Split(years, ","), fmt.Sprint(date.Year()))
	monday := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	days := int(date.Sub(monday).Hours()/24 + 7*60*1000) // 60 is a multiple of the weeks in tests
	return match && inYear && (weeks < 2 || days/7%weeks == 0)
}

// randomDays draws the values of a filter near a year.
func randomDays(r *rand.Rand, near int) (day, years string, weeks int) {
	rules := []string{"last", "workday", "first-workday", "last-workday", "15W", "1W", "31W", "30W", "L-3", "L-1", "L-30", "mon#1", "sun#5", "sat#last", "wed#3"}
	if r.IntN(4) > 0 {
		r.Shuffle(len(rules), func(i, j int) { rules[i], rules[j] = rules[j], rules[i] })
		day = strings.Join(rules[:1+r.IntN(3)], ",")
	}
	if r.IntN(3) == 0 {
		years = fmt.Sprintf("%d,%d", min(max(near, 1970), LastYear), min(max(near+r.IntN(4), 1970), LastYear))
	}
	if r.IntN(3) == 0 {
		weeks = 1 + r.IntN(6)
	}
	return day, years, weeks
}

// TestDaysEqualBruteForce walks the days of 30 years.
func TestDaysEqualBruteForce(t *testing.T) {
	seed, _ := bruteSettings(t)
	r := rand.New(rand.NewPCG(seed, 3))
	for range 300 {
		b := &bruteSchedule{{text: "0"}, {text: "12"}, starField(1, 31), starField(1, 12), randomField(r, 0, 7, -1)}
		b[0].allowed[0], b[1].allowed[12] = true, true
		start := time.Date(1970+r.IntN(200), time.Month(1+r.IntN(12)), 1, 12, 0, 0, 0, time.UTC)
		day, years, weeks := randomDays(r, start.Year()+1)
		s := mustSchedule(t, b.spec(), nil).on(mustDays(t, day, years, weeks))
		next := s.Next(start.Add(-1))
		for at := start; at.Before(start.AddDate(30, 0, 0)); at = at.AddDate(0, 0, 1) {
			if !b.matches(&moment{wall: at, real: true, heard: true}, DSTCron) || !bruteDays(day, years, weeks, at) {
				continue
			}
			if !next.Equal(at) {
				t.Fatalf("%q day=%s year=%s weeks=%d: got %s, want %s (CRONRING_SEED=%d)", b.spec(), day, years, weeks, next, at, seed)
			}
			next = s.Next(next)
		}
	}
}

// TestDaysOfEveryAreLocal holds a filter of every= to the dates of a zone, also
// where midnight is skipped (Beirut) and comes twice (Havana), and where a whole
// day is missing (Apia).
func TestDaysOfEveryAreLocal(t *testing.T) {
	for _, test := range []struct{ zone, from, day string }{
		{"Asia/Beirut", "2026-03-26 00:00", "last-workday,sun#last"}, {"America/Havana", "2026-10-30 00:00", "sun#1"},
		{"Pacific/Apia", "2011-12-27 00:00", "fri#last,sat#last"}, {"America/New_York", "2026-10-30 00:00", "last,sun#1"},
	} {
		loc := zoneFile(t, "slim", test.zone)
		for _, period := range []time.Duration{20 * time.Minute, 5 * time.Hour, MaxEveryOn} {
			s := On(Every(period, 0), mustDays(t, test.day, "", 0), NewZone(loc))
			from := utc(t, test.from)
			var got, want []int64
			for at := s.Next(from); at.Before(from.AddDate(0, 0, 9)) && !at.IsZero(); at = s.Next(at) {
				got = append(got, at.Unix())
			}
			for at := from.Add(time.Minute); at.Before(from.AddDate(0, 0, 9)); at = at.Add(time.Minute) {
				y, m, d := at.In(loc).Date()
				if at.Unix()%int64(period/time.Second) == 0 && bruteDays(test.day, "", 0, time.Date(y, m, d, 12, 0, 0, 0, time.UTC)) {
					want = append(want, at.Unix())
				}
			}
			if !slices.Equal(got, want) || len(got) == 0 && period < time.Hour {
				t.Errorf("%s every %s day=%s:\n got %s\nwant %s", test.zone, period, test.day, instants(got), instants(want))
			}
		}
	}
}

// BenchmarkNextOnRareDays searches for days that are far away, and for days that
// do not exist.
func BenchmarkNextOnRareDays(b *testing.B) {
	zone := NewZone(zoneFile(b, "slim", "America/New_York"))
	for _, bench := range []struct {
		name     string
		schedule cron.Schedule
	}{
		{"plain", mustSchedule(b, "30 2 29 2 *", zone)},
		{"workdays", mustSchedule(b, "30 2 * * *", zone).on(mustDays(b, "workday", "", 0))},
		{"last", mustSchedule(b, "30 2 * * *", zone).on(mustDays(b, "last", "", 0))},
		{"year 2199", mustSchedule(b, "30 2 * * *", zone).on(mustDays(b, "mon#5", "2199", 0))},
		{"past year", mustSchedule(b, "30 2 * * *", zone).on(mustDays(b, "31W,15W,mon#2", "1970", 52))},
		{"leap days", mustSchedule(b, "30 2 29 2 *", zone).on(mustDays(b, "sun#5,last", "", 520))},
		{"no day", mustSchedule(b, "30 2 1-7 * *", zone).on(mustDays(b, "last,L-1,31W", "", 519))},
		{"every", On(Every(time.Second, 0), mustDays(b, "sun#5", "2199", 0), zone)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			for b.Loop() {
				bench.schedule.Next(benchStart)
			}
		})
	}
}
