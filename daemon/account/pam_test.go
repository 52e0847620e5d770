package account

import (
	"maps"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
)

// Files of Debian 12 and 13, and of Red Hat's family with SSSD's profile.
var (
	debianPAM = map[string]string{
		"/etc/pam.d/cron": "# The PAM configuration file for the cron daemon\n\n@include common-auth\n\nsession    required     pam_loginuid.so\n" +
			"session       required   pam_env.so\nsession       required   pam_env.so envfile=/etc/default/locale\n\n" +
			"@include common-account\n@include common-session-noninteractive \n\nsession    required   pam_limits.so\n",
		"/etc/pam.d/common-auth": "auth\t[success=1 default=ignore]\tpam_unix.so nullok\nauth\trequisite\tpam_deny.so\nauth\trequired\tpam_permit.so\n" +
			"auth\toptional\tpam_cap.so\n",
		"/etc/pam.d/common-account": "account\t[success=1 new_authtok_reqd=done default=ignore]\tpam_unix.so \n" +
			"account\trequisite\t\tpam_deny.so\naccount\trequired\t\tpam_permit.so\n",
		"/etc/pam.d/common-session-noninteractive": "session\t[default=1]\tpam_permit.so\nsession\trequisite\tpam_deny.so\n" +
			"session\trequired\tpam_permit.so\nsession optional\tpam_umask.so\nsession\trequired\tpam_unix.so \n",
		"/etc/security/capability.conf": "# what Debian ships\nnone  *\n",
		"/etc/security/access.conf":     "# - : ALL : ALL\n",
	}
	rhelPAM = map[string]string{
		"/etc/pam.d/crond": "#\nauth       include    password-auth\naccount    required   pam_access.so\naccount    include    password-auth\n" +
			"session    required   pam_loginuid.so\nsession    include    password-auth\n",
		"/etc/pam.d/password-auth": "auth required pam_env.so\nauth required pam_faildelay.so delay=2000000\n" +
			"auth [default=1 ignore=ignore success=ok] pam_usertype.so isregular\nauth [default=1 ignore=ignore success=ok] pam_localuser.so\n" +
			"auth sufficient pam_unix.so nullok\nauth sufficient pam_sss.so forward_pass\nauth required pam_deny.so\n\n" +
			"account required pam_unix.so\naccount sufficient pam_localuser.so\naccount sufficient pam_usertype.so issystem\n" +
			"account [default=bad success=ok user_unknown=ignore] pam_sss.so\naccount required pam_permit.so\n\n" +
			"password requisite pam_pwquality.so local_users_only\n\n" +
			"session optional pam_keyinit.so revoke\nsession required pam_limits.so\n-session optional pam_systemd.so\n" +
			"session [success=1 default=ignore] pam_succeed_if.so service in crond quiet use_uid\nsession required pam_unix.so\nsession optional pam_sss.so\n",
		"/etc/security/access.conf": "",
	}
)

func TestPAM(t *testing.T) {
	for name, test := range map[string]struct {
		family crontab.Family
		change map[string]string // "" removes a file
		want   PAM
	}{
		"Debian's file":            {crontab.Debian, nil, PAM{Service: "cron", Needs: ""}},
		"Red Hat's":                {crontab.RHEL, nil, PAM{Service: "crond", Needs: ""}},
		"pam_access without rules": {crontab.Debian, map[string]string{"/etc/pam.d/cron": "account required pam_access.so\n"}, PAM{Service: "cron", Needs: ""}},
		"pam_access": {crontab.Debian, map[string]string{"/etc/pam.d/cron": "# cron\naccount \\\n required pam_access.so\n", "/etc/security/access.conf": "-:alice:cron crond ALL\n"},
			PAM{Service: "cron", Needs: "/etc/pam.d/cron:3: account required pam_access.so"}},
		"rules in a directory": {crontab.RHEL, map[string]string{"/etc/security/access.d/site.conf": " -:alice:ALL\n"}, PAM{Service: "crond", Needs: "/etc/pam.d/crond:3: account required pam_access.so"}},
		"rules elsewhere": {crontab.Debian, map[string]string{"/etc/pam.d/cron": "account required pam_access.so accessfile=/etc/access\n"},
			PAM{Service: "cron", Needs: "/etc/pam.d/cron:1: account required pam_access.so accessfile=/etc/access"}},
		"an included file": {crontab.Debian, map[string]string{"/etc/pam.d/common-account": "account required pam_ldap.so\n"}, PAM{Service: "cron", Needs: "/etc/pam.d/common-account:1: account required pam_ldap.so"}},
		"pam_group": {crontab.Debian, map[string]string{"/etc/pam.d/cron": "auth optional pam_group.so\n", "/etc/security/group.conf": "cron;*;bob;Al0000-2400;games\n"},
			PAM{Service: "cron", Needs: "/etc/pam.d/cron:1: auth optional pam_group.so"}},
		"a group without conditions": {crontab.Debian, map[string]string{"/etc/pam.d/cron": "auth optional pam_group.so\n"}, PAM{Service: "cron", Needs: ""}},
		"everybody is denied": {crontab.Debian, map[string]string{"/etc/pam.d/cron": "account required pam_deny.so\n"},
			PAM{Service: "cron", Needs: "/etc/pam.d/cron:1: account required pam_deny.so"}},
		"a condition": {crontab.RHEL, map[string]string{"/etc/pam.d/crond": "account required pam_succeed_if.so user ingroup crons\n"},
			PAM{Service: "crond", Needs: "/etc/pam.d/crond:1: account required pam_succeed_if.so user ingroup crons"}},
		"a condition that jumps": {crontab.RHEL, map[string]string{"/etc/pam.d/crond": "session [success=1 default=ignore] pam_succeed_if.so uid < 1000\nsession required pam_mkhomedir.so\n"},
			PAM{Service: "crond", Needs: "/etc/pam.d/crond:2: session required pam_mkhomedir.so"}},
		"local users only": {crontab.RHEL, map[string]string{"/etc/pam.d/crond": "account required pam_localuser.so\n"},
			PAM{Service: "crond", Needs: "/etc/pam.d/crond:1: account required pam_localuser.so"}},
		"SSSD":                  {crontab.RHEL, map[string]string{"/etc/sssd/sssd.conf": "[sssd]\n"}, PAM{Service: "crond", Needs: "/etc/pam.d/password-auth:6: auth sufficient pam_sss.so forward_pass"}},
		"variables of pam_env":  {crontab.Debian, map[string]string{"/etc/security/pam_env.conf": "A DEFAULT=1\n"}, PAM{Service: "cron", Needs: "/etc/pam.d/cron:6: session required pam_env.so"}},
		"users' own variables":  {crontab.Debian, map[string]string{"/etc/pam.d/cron": "session required pam_env.so user_readenv=1\n"}, PAM{Service: "cron", Needs: "/etc/pam.d/cron:1: session required pam_env.so user_readenv=1"}},
		"capabilities":          {crontab.Debian, map[string]string{"/etc/security/capability.conf": "cap_net_raw bob\nnone *\n"}, PAM{Service: "cron", Needs: "/etc/pam.d/common-auth:4: auth optional pam_cap.so"}},
		"a missing include":     {crontab.Debian, map[string]string{"/etc/pam.d/common-account": ""}, PAM{Service: "cron", Needs: "/etc/pam.d/cron:9: @include common-account"}},
		"includes in a circle":  {crontab.Debian, map[string]string{"/etc/pam.d/cron": "@include cron\n"}, PAM{Service: "cron", Needs: "/etc/pam.d/cron: it cannot be read"}},
		"no module":             {crontab.Debian, map[string]string{"/etc/pam.d/cron": "account required\n"}, PAM{Service: "cron", Needs: "/etc/pam.d/cron:1: account required"}},
		"the vendor's file":     {crontab.Debian, map[string]string{"/etc/pam.d/cron": "", "/usr/lib/pam.d/cron": "account required pam_unix.so\n"}, PAM{Service: "cron", Needs: ""}},
		"only our file is left": {crontab.Debian, map[string]string{"/etc/pam.d/cron": "", "/etc/pam.d/cronring": "account required pam_tally2.so\n"}, PAM{Service: "cronring", Needs: "/etc/pam.d/cronring:1: account required pam_tally2.so"}},
		"Debian's cronie":       {crontab.Debian, map[string]string{"/etc/pam.d/cron": "", "/etc/pam.d/cronie": "account required pam_unix.so\n"}, PAM{Service: "cronie", Needs: ""}},
		"cronie was removed": {crontab.RHEL, map[string]string{"/etc/pam.d/crond": "", "/etc/pam.d/crond.rpmsave": "account required pam_ldap.so\n", "/etc/pam.d/cronring": "account required pam_unix.so\n"},
			PAM{Service: "crond.rpmsave", Needs: "/etc/pam.d/crond.rpmsave:1: account required pam_ldap.so"}},
		"no PAM": {crontab.Debian, map[string]string{"/etc/pam.d/cron": ""}, PAM{}},
	} {
		files := maps.Clone(debianPAM)
		if test.family == crontab.RHEL {
			files = maps.Clone(rhelPAM)
		}
		maps.Copy(files, test.change)
		maps.DeleteFunc(files, func(_, text string) bool { return text == "" })
		got := newTestDirectory(t, files).PAM(test.family)
		if got.Umask, got.Login = false, false; got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
}

// As under cron, a change of any of the files applies to the next job.
func TestPAMFollowsItsFiles(t *testing.T) {
	h := newTestDirectory(t, debianPAM)
	now := time.Now()
	h.now = func() time.Time {
		now = now.Add(lookAgain)
		return now
	}
	if got := h.PAM(crontab.Debian); got.Needs != "" {
		t.Fatalf("got %+v", got)
	}
	h.write("/etc/pam.d/common-account", "account required pam_access.so\n")
	if got := h.PAM(crontab.Debian); got.Needs != "" {
		t.Errorf("without rules: got %+v", got)
	}
	h.write("/etc/security/access.conf", "-:alice:ALL\n")
	if got := h.PAM(crontab.Debian); got.Needs != "/etc/pam.d/common-account:1: account required pam_access.so" {
		t.Errorf("with a rule: got %+v", got)
	}
}

func TestBounds(t *testing.T) {
	files := maps.Clone(debianPAM)
	files["/etc/group"] = "bob:x:1000:\nusers:x:100:\n"
	for defs, want := range map[string][3]uint32{ // bob, ann and root
		"":                      {0o022, 0o022, 0o022},
		"USERGROUPS_ENAB yes\n": {0o002, 0o022, 0o022},
		"# UMASK 0\nUMASK\t\t027\nUSERGROUPS_ENAB yes\n": {0o007, 0o027, 0o027},
		"UMASK 9\n": {0o022, 0o022, 0o022},
	} {
		files["/etc/login.defs"] = defs
		h := newTestDirectory(t, files)
		for i, a := range []Account{{Name: "bob", UID: 1000, GID: 1000}, {Name: "ann", UID: 1001, GID: 100}, {Name: "root"}} {
			if got := h.Bounds(crontab.Debian, a); got.Umask != want[i] || !got.Login {
				t.Errorf("%q: %s has umask %03o, login %v; want %03o and a login", defs, a.Name, got.Umask, got.Login, want[i])
			}
		}
	}
	h := newTestDirectory(t, map[string]string{"/etc/login.defs": "UMASK 077\n", "/etc/pam.d/cron": "session required pam_unix.so\n"})
	if got := h.Bounds(crontab.Debian, Account{Name: "bob", UID: 1000, GID: 1000}); got.Umask != 0 || got.Login {
		t.Errorf("without pam_umask and pam_loginuid: got %+v", got)
	}
}
