package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab/option"
)

// value is a decoded value. Errors do not contain it, because it may be a secret.
type value struct{ any }

func (v value) text() (string, error) {
	if s, ok := v.any.(string); ok {
		return s, nil
	}
	return "", errors.New("want a text between quotes")
}

func (v value) truth() (bool, error) {
	if b, ok := v.any.(bool); ok {
		return b, nil
	}
	return false, errors.New("want true or false")
}

func (v value) number(low, high int64) (int, error) {
	if n, ok := v.any.(int64); ok && n >= low && n <= high {
		return int(n), nil
	}
	return 0, fmt.Errorf("want a number from %d to %d", low, high)
}

func (v value) duration() (time.Duration, error) {
	s, _ := v.any.(string)
	d, err := option.ParseDuration(s)
	if err != nil {
		return 0, errors.New(`want a duration between quotes, at most "36525d": "90s", "5m", "1h30m"`)
	}
	return d, nil
}

func (v value) texts() ([]string, error) {
	list, ok := v.any.([]any)
	texts := make([]string, len(list))
	for i := range list {
		if texts[i], ok = list[i].(string); !ok {
			break
		}
	}
	if !ok {
		return nil, errors.New(`want a list of texts: ["a", "b"]`)
	}
	return texts, nil
}

// members reads a list of users, and of groups with @ before them.
func (v value) members() ([]string, error) {
	names, err := v.texts()
	for _, name := range names {
		if err := option.CheckMember(name); err != nil {
			return nil, err
		}
	}
	return names, err
}

// option returns the value of an option in the form of a #@ line.
func (v value) option() (string, error) {
	switch v := v.any.(type) {
	case string:
		return v, nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case bool:
		if v {
			return "yes", nil
		}
		return "no", nil
	}
	return "", errors.New("want a text between quotes, a number, true or false")
}

// rate reads N/DURATION, where the duration may be a unit alone: 10/m is ten in
// each minute.
func (v value) rate() (n int, per time.Duration, err error) {
	bad := errors.New(`want a rate between quotes: "10/m", "5/30s"`)
	text, _ := v.any.(string)
	number, unit, _ := strings.Cut(text, "/")
	if unit != "" && strings.Trim(unit[:1], "0123456789") != "" {
		unit = "1" + unit
	}
	per, err = option.ParseDuration(unit)
	if err != nil || per < time.Second {
		return 0, 0, bad
	}
	if n, err = strconv.Atoi(number); err != nil || n < 1 || n > mostRate {
		return 0, 0, bad
	}
	return n, per, nil
}
