# Lines of the system format that look wrong and are right.
* * * * * root :
0	3	*	*	*	root	echo tabs
-0 3 * * * root echo quiet
@daily root -n false
@reboot nobody echo
0 3 * * * no-such-account echo is asked for when it is due
0 3 * * * 1000 echo an account of digits
0 3 * * * DOMAIN\bob echo an account of a directory
0 3 * * * root root
0 3 * * * root date +\%F%input
-@hourly	root	-n	echo
MAILTO=""
0 3 * * 7 www-data [ -x /bin/true ] && true # all is the command
0 3 * * * /usr/bin/echo is the account, as in all crons
0 3 * * * * echo
0 3 * * * bob:staff echo as in FreeBSD
